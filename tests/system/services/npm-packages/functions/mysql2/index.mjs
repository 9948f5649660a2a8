import mysql from 'mysql2/promise'

/** One connection with a prepared statement, then a pool with many queries at once. */
export default {
  async fetch(_request, env) {
    const to = {
      host: env.HOST,
      port: Number(env.MYSQL),
      user: 'app',
      password: 'of the app',
      database: 'app',
    }
    const connection = await mysql.createConnection(to)
    await connection.query('CREATE TABLE IF NOT EXISTS readings (id INT, value LONGTEXT)')
    await connection.execute('INSERT INTO readings VALUES (?, ?)', [7, 'x'.repeat(100_000)])
    const [rows] = await connection.execute(
      'SELECT id, LENGTH(value) AS length FROM readings WHERE id = ?',
      [7],
    )
    await connection.end()
    const pool = mysql.createPool({ ...to, connectionLimit: 5 })
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, at) => pool.query('SELECT ? * 2 AS `double`', [at])),
    )
    await pool.end()
    const sum = results.reduce((total, [[row]]) => total + row.double, 0)
    return Response.json({ row: rows[0], sum })
  },
}
