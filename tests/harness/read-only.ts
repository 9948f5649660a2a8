import pg from 'pg'

/** Makes a database of PostgreSQL only read, as after a failover. It counts for new connections: those that exist have to end. */
export async function setReadOnly(database: string, isOn: boolean): Promise<void> {
  const client = new pg.Client(database)
  await client.connect()
  await client.query('SET default_transaction_read_only = off')
  const { pathname } = new URL(database)
  await client.query(
    `ALTER DATABASE "${pathname.slice(1)}" SET default_transaction_read_only = ${isOn ? 'on' : 'off'}`,
  )
  await client.end()
}
