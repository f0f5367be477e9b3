// Prisma without an engine of its own, by its adapter for node's pg: what it answers and shows of a refusal.
const { PrismaClient } = require('./generated');
const { PrismaPg } = require('@prisma/adapter-pg');
const port = Number(process.argv[2]), password = process.env.CAE_PASSWORD;
const client = new PrismaClient({ adapter: new PrismaPg({ host: '127.0.0.1', port, user: 'ana', password, database: 'staff' }) });
const shown = (key, value) => typeof value === 'bigint' ? Number(value) : value;
async function say(name, work) {
  try { console.log(name, JSON.stringify(await work(), shown)); }
  catch (error) { console.log(name, 'FAIL', error.message.split('\n').pop()); }
}
async function main() {
  const older = { age: { gt: 25 } }, mean = { _avg: { salary: true }, _count: true };
  await say('count', () => client.staff.count({ where: { dept: { in: ['a', 'b'] }, ...older } }));
  await say('since', () => client.staff.count({ where: { hired: { lt: new Date('2021-01-01') } } }));
  await say('mean', () => client.staff.aggregate({ ...mean, where: older }));
  await say('groups', () => client.staff.groupBy({ by: ['dept'], ...mean, where: older, orderBy: { dept: 'asc' } }));
  await say('rows', () => client.staff.findMany({ select: { id: true, dept: true }, orderBy: { id: 'asc' }, take: 2, skip: 1 }));
  await say('raw', () => client.$queryRaw`SELECT COUNT(*) AS n FROM staff WHERE dept = ${'a'}`);
  await say('refusal', () => client.staff.aggregate({ _avg: { salary: true }, where: { id: 3 } }));
  await say('person', () => client.staff.findFirst());
  await client.$disconnect();
}
main();
