import pg from 'pg'

/** One connection, then a pool with many queries at once. */
export default {
  async fetch(_request, env) {
    const client = new pg.Client({ connectionString: env.POSTGRES })
    await client.connect()
    await client.query('CREATE TABLE IF NOT EXISTS readings (id int, value text)')
    await client.query('INSERT INTO readings VALUES ($1, $2)', [7, 'x'.repeat(100_000)])
    const { rows } = await client.query('SELECT id, length(value) AS length FROM readings WHERE id = $1', [7])
    await client.end()
    const pool = new pg.Pool({ connectionString: env.POSTGRES, max: 5 })
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, at) => pool.query('SELECT $1::int * 2 AS double', [at])),
    )
    await pool.end()
    const sum = results.reduce((total, result) => total + result.rows[0].double, 0)
    return Response.json({ row: rows[0], sum })
  },
}
