// What node's `pg` sees: node client.js PORT PASSWORD CERTIFICATE
const { Client, Pool } = require('pg');
const fs = require('fs');
const [port, password, certificate] = process.argv.slice(2);
const where = { host: 'localhost', port, user: 'ana', password, database: 'staff', ssl: { ca: fs.readFileSync(certificate) } };

async function main() {
  const client = new Client(where);
  await client.connect();
  const count = 'SELECT COUNT(*)::int AS n FROM staff WHERE age >= $1 AND dept = $2';
  console.log('count', (await client.query(count, [40, 'a'])).rows[0].n, (await client.query(count, [40, null])).rows[0].n);
  for (const value of [7, null]) {
    const { rows } = await client.query({ name: 'kept', text: 'SELECT $1::int AS a, $2::text AS b', values: [value, 'é'] });
    console.log('kept', JSON.stringify(rows[0]));
  }
  for (const sql of ['SELECT AVG(salary) FROM staff WHERE id = 3', 'SELECT salary FROM staff']) {
    try { await client.query(sql); } catch (error) { console.log(error.code, error.detail, (error.message + (error.hint || '')).split('Hint: ').length === 2 ? 'hint' : ''); }
  }
  await client.end();
  const pool = new Pool({ ...where, max: 4 });
  const found = await Promise.all([...Array(10).keys()].map((i) => pool.query('SELECT $1::int AS i', [i])));
  console.log('pool', found.map((each) => each.rows[0].i).join());
  await pool.end();
}
main().catch((error) => { console.error(error); process.exit(1); });
