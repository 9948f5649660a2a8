/** Programs that store data. */
import { mosquittoImage, postgresImage, redisImage } from '../../services/public-images.ts'
import { downloadPackages, versionOf } from '../debian-packages.ts'
import { expectText } from '../expect-text.ts'
import type { Program } from '../field.ts'
import { greeting } from '../greeting.ts'
import { installedVersion } from '../installed-version.ts'
import { asUser, makeImage } from '../make-image.ts'

const mariadbPackages = ['mariadb-server', 'mariadb-client'] as const

const mariadb: Program = {
  name: 'mariadb',
  manner: 'root, `chown`, drops to `mysql`; makes database and user from variables',
  version: () => versionOf(downloadPackages(mariadbPackages), 'mariadb-server-core'),
  env: {
    MARIADB_DATABASE: 'shop',
    MARIADB_USER: 'app',
    MARIADB_PASSWORD: 'secret',
    MARIADB_ROOT_PASSWORD: 'root-secret',
    'MCM.PORTS': 'PORT:3306',
  },
  image: () =>
    makeImage({
      name: 'mariadb',
      packages: mariadbPackages,
      users: 'mysql:x:999:999::/var/lib/mysql:/bin/sh\n',
      config: {
        Entrypoint: ['docker-entrypoint.sh'],
        Cmd: ['mariadbd'],
        Volumes: { '/var/lib/mysql': {} },
        ExposedPorts: { '3306/tcp': {} },
      },
      fill(root) {
        root.folder('var/lib/mysql', 999)
        root.file('etc/mysql/mariadb.cnf', '[mysqld]\nskip-name-resolve\nbind-address=0.0.0.0\n')
        root.script(
          'usr/local/bin/docker-entrypoint.sh',
          `#!/bin/bash
set -eo pipefail
[ "\${1#-}" = "$1" ] || set -- mariadbd "$@"
if [ "$(id -u)" = 0 ]; then
  mkdir -p /run/mysqld
  find /var/lib/mysql /run/mysqld \\! -user mysql -exec chown mysql: '{}' +
  ${asUser('mysql')} "$0" "$@"
fi
if [ ! -d /var/lib/mysql/mysql ]; then
  for each in DATABASE USER PASSWORD ROOT_PASSWORD; do
    old=MYSQL_$each new=MARIADB_$each
    declare $new="\${!new:-\${!old}}"
  done
  mariadb-install-db --datadir=/var/lib/mysql --auth-root-authentication-method=normal --skip-test-db >/dev/null
  mariadbd --skip-networking --socket=/run/mysqld/mysqld.sock &
  pid=$!
  until mariadb-admin -uroot --socket=/run/mysqld/mysqld.sock --silent ping; do sleep 0.5; done
  mariadb -uroot --socket=/run/mysqld/mysqld.sock <<SQL
CREATE DATABASE $MARIADB_DATABASE;
CREATE USER '$MARIADB_USER'@'%' IDENTIFIED BY '$MARIADB_PASSWORD';
GRANT ALL ON $MARIADB_DATABASE.* TO '$MARIADB_USER'@'%';
ALTER USER root@localhost IDENTIFIED BY '$MARIADB_ROOT_PASSWORD';
SQL
  kill $pid
  wait $pid
fi
exec "$@"
`,
        )
      },
    }),
  used: 'its greeting at the port; `CREATE`, `INSERT` and `SELECT` with its client',
  async use({ port, exec }) {
    expectText(await greeting(port), /MariaDB/)
    expectText(sql(exec, 'SELECT 6 * 7'), /^42$/)
  },
  store: ({ exec }) => void sql(exec, "CREATE TABLE t (v TEXT); INSERT INTO t VALUES ('stored')"),
  stored: ({ exec }) => expectText(sql(exec, 'SELECT v FROM t'), /^stored$/),
}

const sql = (exec: (...command: string[]) => string, text: string): string =>
  exec('mariadb', '--protocol=tcp', '-h127.0.0.1', '-uapp', '-psecret', '-Nse', text, 'shop')

const influxdb: Program = {
  name: 'influxdb',
  manner: 'root; makes a database from a variable',
  version: () => versionOf(downloadPackages(['influxdb']), 'influxdb'),
  env: { INFLUXDB_DB: 'sensors' },
  image: () =>
    makeImage({
      name: 'influxdb',
      packages: ['influxdb'],
      config: {
        Entrypoint: ['/entrypoint.sh'],
        Cmd: ['influxd'],
        Volumes: { '/var/lib/influxdb': {} },
        ExposedPorts: { '8086/tcp': {} },
      },
      fill(root) {
        root.folder('var/lib/influxdb')
        root.script(
          'entrypoint.sh',
          `#!/bin/bash
set -e
[ -d /var/lib/influxdb/meta ] || touch /tmp/first
"$@" &
pid=$!
trap 'kill $pid; wait $pid' TERM INT
if [ -f /tmp/first ]; then
  until busybox wget -qO- --post-data "q=CREATE DATABASE \${INFLUXDB_DB:-sensors}" http://127.0.0.1:8086/query; do sleep 0.5; done
fi
wait $pid
`,
        )
      },
    }),
  used: 'writes and queries a point through the gateway',
  async use({ http }) {
    await http('/write?db=sensors', { method: 'POST', body: 'room temperature=20.5 1000' })
  },
  async store({ http }) {
    await http('/write?db=sensors', { method: 'POST', body: 'room temperature=21.5 2000' })
  },
  async stored({ http }) {
    expectText(await http(`/query?db=sensors&q=${encodeURIComponent('SELECT * FROM room')}`), /21\.5/)
  },
}

const redis: Program = {
  name: 'redis',
  manner: 'root, `chown`, drops to `redis`',
  version: () => installedVersion('redis-server', '--version', /v=([\d.]+)/),
  env: { 'MCM.PORTS': 'PORT:6379' },
  image: redisImage,
  used: '`PING` at the port; `SET` and `GET` with its client',
  use: async ({ port }) => expectText(await greeting(port, Buffer.from('PING\r\n')), /^\+PONG/),
  store: ({ exec }) => expectText(exec('redis-cli', 'set', 'key', 'stored'), /^OK$/),
  stored: ({ exec }) => expectText(exec('redis-cli', 'get', 'key'), /^stored$/),
}

const postgresql: Program = {
  name: 'postgresql',
  manner: 'root, `chown`, drops to `postgres`; stops by `SIGINT`',
  version: () => installedVersion('postgres', '--version', /([\d.]+)/),
  env: { POSTGRES_PASSWORD: 'secret', 'MCM.PORTS': 'PORT:5432' },
  image: postgresImage,
  used: 'its refusal of a wrong protocol at the port; `CREATE`, `INSERT` and `SELECT` with its client',
  async use({ port, exec }) {
    // A start of protocol 99.
    expectText(await greeting(port, Buffer.from([0, 0, 0, 8, 0, 99, 0, 0])), /unsupported frontend protocol/)
    expectText(psql(exec, 'select 6 * 7'), /^42$/)
  },
  store: ({ exec }) => void psql(exec, "create table t as select 'stored'::text as v"),
  stored: ({ exec }) => expectText(psql(exec, 'select v from t'), /^stored$/),
}

const psql = (exec: (...command: string[]) => string, text: string): string =>
  exec('psql', '-h', '/var/run/postgresql', '-U', 'postgres', '-Atc', text)

/** MQTT 3.1.1: CONNECT of the client "t". */
const mqttConnect = Buffer.from([
  0x10,
  13,
  0,
  4,
  ...Buffer.from('MQTT'),
  4,
  2,
  0,
  60,
  0,
  1,
  ...Buffer.from('t'),
])
/** With PUBLISH, RETAIN and QoS 1; with SUBSCRIBE. */
const mqttPublish = Buffer.from([
  ...mqttConnect,
  0x33,
  11,
  0,
  1,
  ...Buffer.from('v'),
  0,
  1,
  ...Buffer.from('stored'),
])
const mqttSubscribe = Buffer.from([...mqttConnect, 0x82, 6, 0, 1, 0, 1, ...Buffer.from('v'), 0])

const mosquitto: Program = {
  name: 'mosquitto',
  manner: 'root, `chown`; gives up root itself',
  version: () => installedVersion('mosquitto', '-h', /version ([\d.]+)/),
  env: { 'MCM.PORTS': 'PORT:1883' },
  image: mosquittoImage,
  used: 'MQTT 3.1.1 at the port: a retained message',
  use: async ({ port }) => void (await greeting(port, mqttConnect, '\x20\x02\x00\x00')),
  store: async ({ port }) => void (await greeting(port, mqttPublish, '\x40\x02\x00\x01')),
  stored: async ({ port }) => void (await greeting(port, mqttSubscribe, 'stored')),
}

export const databases: readonly Program[] = [influxdb, mariadb, mosquitto, postgresql, redis]
