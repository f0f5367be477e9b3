// knex, Sequelize, TypeORM, drizzle, postgres.js: what each lists, answers and shows of a refusal.
const port = Number(process.argv[2]), password = process.env.CAE_PASSWORD;
const say = (name, what) => console.log(name, JSON.stringify(what));
const told = e => { e = e.cause && e.cause.message ? e.cause : (e.parent || e.driverError || e); return [e.code, e.message, e.hint].join(' | '); };
async function attempt(name, work) { try { say(name, await work()); } catch (e) { say(name + ' FAIL', told(e).slice(0, 300)); } }
const Q = "SELECT dept, COUNT(*) AS n, AVG(salary) AS a FROM staff GROUP BY dept ORDER BY dept LIMIT 1";
async function main() {
  const knex = require('knex')({client: 'pg', connection: {host: '127.0.0.1', port, user: 'ana', password, database: 'staff'}});
  await attempt('knex columns', () => knex('staff').columnInfo());
  await attempt('knex hasTable', () => knex.schema.hasTable('staff'));
  await attempt('knex hasColumn', () => knex.schema.hasColumn('staff', 'age'));
  await attempt('knex group', () => knex('staff').select('dept').count('*').avg('salary').where('age', '>', 25).groupBy('dept').orderBy('dept'));
  await attempt('knex in', () => knex('staff').count('* as n').whereIn('dept', ['a', 'b']).first());
  await attempt('knex any', () => knex.raw('SELECT COUNT(*) AS n FROM staff WHERE dept = ANY(?)', [['a', 'b']]).then(r => r.rows));
  await attempt('knex list', () => knex('department').select('*').limit(2));
  await attempt('knex refusal', () => knex('staff').avg('salary').where('id', 3));
  await knex.destroy();
  const {Sequelize, DataTypes} = require('sequelize');
  const s = new Sequelize('staff', 'ana', password, {host: '127.0.0.1', port, dialect: 'postgres', logging: false});
  await attempt('sequelize authenticate', () => s.authenticate());
  await attempt('sequelize tables', () => s.getQueryInterface().showAllTables());
  await attempt('sequelize describe', () => s.getQueryInterface().describeTable('staff'));
  await attempt('sequelize indexes', () => s.getQueryInterface().showIndex('staff'));
  const Staff = s.define('staff', {id: {type: DataTypes.INTEGER, primaryKey: true}, age: DataTypes.INTEGER, dept: DataTypes.TEXT, salary: DataTypes.INTEGER}, {tableName: 'staff', timestamps: false});
  await attempt('sequelize count', () => Staff.count({where: {age: {[Sequelize.Op.gt]: 30}}}));
  await attempt('sequelize avg', () => Staff.aggregate('salary', 'avg', {where: {dept: 'a'}}));
  await attempt('sequelize group', () => Staff.findAll({attributes: ['dept', [s.fn('AVG', s.col('salary')), 'a']], group: ['dept'], order: ['dept'], raw: true}));
  await attempt('sequelize bind', () => s.query('SELECT COUNT(*) AS n FROM staff WHERE dept = ANY($1)', {bind: [['a', 'b']]}).then(r => r[0]));
  await attempt('sequelize findAll', () => Staff.findAll({attributes: ['id', 'age'], limit: 2, order: ['id'], raw: true}));
  await attempt('sequelize refusal', () => Staff.aggregate('salary', 'avg', {where: {id: 3}}));
  await s.close();
  const {DataSource, EntitySchema} = require('typeorm');
  const entity = new EntitySchema({name: 'staff', tableName: 'staff', columns: {id: {type: Number, primary: true}, age: {type: Number}, dept: {type: String}, salary: {type: Number}}});
  const d = new DataSource({type: 'postgres', host: '127.0.0.1', port, username: 'ana', password, database: 'staff', entities: [entity]});
  await attempt('typeorm initialize', async () => { await d.initialize(); return true; });
  if (d.isInitialized) {
    await attempt('typeorm table', async () => { const t = await d.createQueryRunner().getTable('staff'); return t && t.columns.map(c => c.name + ':' + c.type); });
    const r = d.getRepository('staff');
    await attempt('typeorm count', () => r.count({where: {dept: 'a'}}));
    await attempt('typeorm in', () => r.count({where: {dept: require('typeorm').In(['a', 'b'])}}));
    await attempt('typeorm average', () => r.average('salary', {dept: 'a'}));
    await attempt('typeorm group', () => r.createQueryBuilder('s').select('s.dept', 'dept').addSelect('AVG(s.salary)', 'a').where('s.age > :x', {x: 25}).groupBy('s.dept').orderBy('s.dept').getRawMany());
    await attempt('typeorm find', () => r.find({select: {id: true, age: true}, take: 2, order: {id: 'ASC'}}));
    await attempt('typeorm refusal', () => r.average('salary', {id: 3}));
    await d.destroy();
  }
  const {Pool} = require('pg');
  const pool = new Pool({host: '127.0.0.1', port, user: 'ana', password, database: 'staff'});
  const {drizzle} = require('drizzle-orm/node-postgres');
  const {sql, eq, inArray, avg, count} = require('drizzle-orm');
  const {pgTable, integer, text} = require('drizzle-orm/pg-core');
  const staff = pgTable('staff', {id: integer('id'), age: integer('age'), dept: text('dept'), salary: integer('salary')});
  const db = drizzle({client: pool});
  await attempt('drizzle group', () => db.select({dept: staff.dept, a: avg(staff.salary), n: count()}).from(staff).where(inArray(staff.dept, ['a', 'b'])).groupBy(staff.dept).orderBy(staff.dept));
  await attempt('drizzle list', () => db.select({id: staff.id}).from(staff).orderBy(staff.id).limit(2));
  await attempt('drizzle refusal', () => db.select({a: avg(staff.salary)}).from(staff).where(eq(staff.id, 3)));
  await pool.end();
  const p = require('postgres')({host: '127.0.0.1', port, user: 'ana', password, database: 'staff', onnotice: () => {}});
  const dept = 'a', age = 25, depts = ['a', 'b'];
  await attempt('postgres.js small', () => p`SELECT COUNT(*) AS n, AVG(salary) AS a FROM staff WHERE dept = ${dept} AND age > ${age}`);
  await attempt('postgres.js in', () => p`SELECT COUNT(*) AS n FROM staff WHERE dept IN ${p(depts)}`);
  await attempt('postgres.js any', () => p`SELECT COUNT(*) AS n FROM staff WHERE dept = ANY(${depts})`);
  await attempt('postgres.js cursor', async () => { let n = 0; await p`SELECT id FROM staff`.cursor(50, rows => { n += rows.length; }); return n; });
  await attempt('postgres.js copy', async () => { let n = ''; const r = await p`COPY (SELECT dept, COUNT(*) FROM staff GROUP BY dept ORDER BY dept) TO STDOUT`.readable(); for await (const c of r) n += c; return n; });
  await attempt('postgres.js refusal', () => p`SELECT AVG(salary) AS a FROM staff WHERE id = ${3}`);
  await p.end();
}
main().then(() => process.exit(0), e => { console.log('BROKE', e); process.exit(1); });
