/**
 * Images as public registries have them, of programs that are installed on this machine from Debian's packages: their entry points
 * start as root, change owners, write a configuration, give up root, and listen on low ports.
 */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findPostgres } from '@selvedge/service-kit/testing'
import { savedImage } from '../../harness/archives.ts'
import { findProgram } from '../../harness/installed.ts'
import { addShell, copyProgram, makeRoot } from '../containers/debian-images.ts'

/** A file system of an image while it is made. */
interface Root {
  readonly path: string
  /** Writes an executable file. */
  script(path: string, text: string): void
  file(path: string, text: string): void
  folder(path: string, owner?: number): void
}

function makeImage(name: string, config: object, fill: (root: Root) => void, users = ''): Buffer {
  const path = mkdtempSync(join(tmpdir(), 'image-'))
  chmodSync(path, 0o755)
  try {
    makeRoot(path, users)
    const groups = users.replaceAll(/^([^:]+):x:(\d+):.*$/gm, '$1:x:$2:')
    writeFileSync(join(path, 'etc/group'), `root:x:0:\n${groups}`)
    const write = (at: string, text: string, mode: number) => {
      mkdirSync(dirname(join(path, at)), { recursive: true })
      writeFileSync(join(path, at), text, { mode })
    }
    fill({
      path,
      script: (at, text) => write(at, text, 0o755),
      file: (at, text) => write(at, text, 0o644),
      folder(at, owner = 0) {
        mkdirSync(join(path, at), { recursive: true })
        chownSync(join(path, at), owner, owner)
      },
    })
    chmodSync(join(path, 'tmp'), 0o1777)
    const { stdout, stderr, status } = spawnSync('tar', ['--numeric-owner', '-C', path, '-c', '.'], {
      maxBuffer: 1e9,
    })
    if (status !== 0) throw new Error(`tar: ${stderr}`)
    return savedImage({ name, layers: [stdout], config })
  } finally {
    rmSync(path, { recursive: true })
  }
}

/** Tools of GNU and util-linux that entry points use, as busybox has them; `setpriv` is in the place of `gosu`. */
function addTools({ path }: Root): void {
  addShell(path)
  for (const each of [
    'chown',
    'find',
    'cp',
    'mv',
    'head',
    'tail',
    'env',
    'dirname',
    'touch',
    'rm',
    'ln',
    'dd',
    'stat',
    'httpd',
    'wc',
    'printf',
  ])
    symlinkSync(realpathSync(findProgram('busybox')!), join(path, 'usr/bin', each))
  copyProgram(findProgram('setpriv')!, path)
}

const asUser = (user: string) =>
  `exec /usr/bin/setpriv --reuid=${user} --regid=${user} --clear-groups --no-new-privs`

/** nginx: writes its configuration from a template, root as the first process, workers of another user, port 80. */
export const nginxImage = (): Buffer =>
  makeImage(
    'nginx',
    {
      Entrypoint: ['/docker-entrypoint.sh'],
      Cmd: ['nginx', '-g', 'daemon off;'],
      Env: ['PATH=/usr/sbin:/usr/bin', 'GREETING=hello'],
      ExposedPorts: { '80/tcp': {} },
      StopSignal: 'SIGQUIT',
    },
    (root) => {
      addTools(root)
      copyProgram('/usr/sbin/nginx', root.path)
      for (const each of ['var/lib/nginx', 'var/log/nginx', 'var/cache/nginx', 'usr/share/nginx/html'])
        root.folder(each)
      symlinkSync('/dev/stdout', join(root.path, 'var/log/nginx/access.log'))
      symlinkSync('/dev/stderr', join(root.path, 'var/log/nginx/error.log'))
      root.file(
        'etc/nginx/nginx.conf',
        `user nginx; worker_processes 2; pid /run/nginx.pid;
error_log /var/log/nginx/error.log notice;
events { worker_connections 256; }
http { access_log /var/log/nginx/access.log; include /etc/nginx/conf.d/*.conf; }
`,
      )
      root.file(
        'etc/nginx/conf.d/default.conf',
        `server { listen PORT_OF_TEMPLATE; root /usr/share/nginx/html; }\n`,
      )
      root.file('usr/share/nginx/html/index.html', 'GREETING from nginx\n')
      root.script(
        'docker-entrypoint.sh',
        `#!/bin/sh
set -e
if [ "$1" = nginx ]; then
  # A file that is mounted read-only stays as it is.
  if touch /etc/nginx/conf.d/default.conf 2>/dev/null; then
    sed -i "s,PORT_OF_TEMPLATE,80," /etc/nginx/conf.d/default.conf
  fi
  sed -i "s,GREETING,$GREETING," /usr/share/nginx/html/index.html
fi
exec "$@"
`,
      )
    },
    'nginx:x:101:101::/nonexistent:/bin/false\n',
  )

/** redis: changes the owner of its volume, and gives up root. */
export const redisImage = (): Buffer =>
  makeImage(
    'redis',
    {
      Entrypoint: ['docker-entrypoint.sh'],
      Cmd: ['redis-server', '--protected-mode', 'no'],
      Env: ['PATH=/usr/local/bin:/usr/bin'],
      WorkingDir: '/data',
      Volumes: { '/data': {} },
      ExposedPorts: { '6379/tcp': {} },
    },
    (root) => {
      addTools(root)
      for (const each of ['redis-server', 'redis-cli']) copyProgram(findProgram(each)!, root.path)
      root.folder('data', 999)
      root.script(
        'usr/local/bin/docker-entrypoint.sh',
        `#!/bin/sh
set -e
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
  find . \\! -user redis -exec chown redis '{}' +
  ${asUser('999')} "$0" "$@"
fi
umask 0077
exec "$@"
`,
      )
    },
    'redis:x:999:999::/:/bin/sh\n',
  )

/** mosquitto: gives its folders to its user; the program gives up root itself. */
export const mosquittoImage = (): Buffer =>
  makeImage(
    'mosquitto',
    {
      Entrypoint: ['/docker-entrypoint.sh'],
      Cmd: ['/usr/sbin/mosquitto', '-c', '/mosquitto/config/mosquitto.conf'],
      Volumes: { '/mosquitto/data': {}, '/mosquitto/log': {} },
      ExposedPorts: { '1883/tcp': {} },
    },
    (root) => {
      addTools(root)
      copyProgram('/usr/sbin/mosquitto', root.path)
      for (const each of ['config', 'data', 'log']) root.folder(`mosquitto/${each}`, 1883)
      root.file(
        'mosquitto/config/mosquitto.conf',
        `listener 1883
allow_anonymous true
persistence true
persistence_location /mosquitto/data/
log_dest stdout
`,
      )
      root.file('mosquitto-no-auth.conf', 'listener 1883\nallow_anonymous true\n')
      root.script(
        'docker-entrypoint.sh',
        `#!/bin/sh
set -e
if [ "$(id -u)" = 0 ]; then
  [ -d /mosquitto ] && chown -R mosquitto:mosquitto /mosquitto || true
fi
exec "$@"
`,
      )
    },
    'mosquitto:x:1883:1883::/:/bin/sh\n',
  )

/** dnsmasq: answers for one name, and needs no other server. */
export const dnsmasqImage = (): Buffer =>
  makeImage(
    'dnsmasq',
    {
      Cmd: [
        '/usr/sbin/dnsmasq',
        '--keep-in-foreground',
        // To give up root it would need NET_ADMIN.
        '--user=root',
        '--pid-file=',
        '--log-facility=-',
        '--no-resolv',
        '--no-hosts',
        '--conf-file=/dev/null',
        '--address=/router.test/10.9.8.7',
      ],
      ExposedPorts: { '53/udp': {}, '53/tcp': {} },
    },
    (root) => {
      copyProgram('/usr/sbin/dnsmasq', root.path)
    },
    'nobody:x:65534:65534::/:/bin/false\ndnsmasq:x:999:999::/:/bin/false\n',
  )

/** PostgreSQL: makes its database as its user, and expects SIGINT. */
export const postgresImage = (): Buffer =>
  makeImage(
    'postgres',
    {
      Entrypoint: ['docker-entrypoint.sh'],
      Cmd: ['postgres'],
      Env: [
        `PATH=/usr/local/bin:${realpathSync(findPostgres()!)}:/usr/bin`,
        'PGDATA=/var/lib/postgresql/data',
        'TZ=UTC',
      ],
      Volumes: { '/var/lib/postgresql/data': {} },
      ExposedPorts: { '5432/tcp': {} },
      StopSignal: 'SIGINT',
    },
    (root) => {
      addTools(root)
      const programs = realpathSync(findPostgres()!)
      const version = dirname(programs)
      for (const each of ['postgres', 'initdb', 'pg_ctl', 'pg_isready', 'psql'])
        copyProgram(join(programs, each), root.path)
      for (const each of ['plpgsql.so', 'dict_snowball.so'])
        copyProgram(join(version, 'lib', each), root.path)
      for (const each of [version.replace('/usr/lib/', '/usr/share/'), '/usr/share/zoneinfo/UTC'])
        cpSync(each, join(root.path, each), { recursive: true, dereference: true })
      root.folder('var/lib/postgresql/data', 70)
      root.folder('var/run', 0)
      root.script(
        'usr/local/bin/docker-entrypoint.sh',
        `#!/bin/sh
set -eu
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /var/run/postgresql
  chmod 00700 "$PGDATA"
  chmod 03775 /var/run/postgresql
  find "$PGDATA" \\! -user postgres -exec chown postgres '{}' +
  find /var/run/postgresql \\! -user postgres -exec chown postgres '{}' +
  ${asUser('70')} "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf %s "\${POSTGRES_PASSWORD:-$(cat "$POSTGRES_PASSWORD_FILE")}" > /tmp/password
  initdb --username=postgres --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 >/dev/null
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
fi
exec "$@" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql
`,
      )
    },
    'postgres:x:70:70::/:/bin/sh\n',
  )

/** gpsd: reads a receiver from a device, as root of its container. @param device path in the container */
export const gpsdImage = (device: string): Buffer =>
  makeImage(
    'gpsd',
    {
      Entrypoint: ['/usr/sbin/gpsd', '-N', '-n', '-G'],
      Cmd: [device],
      Env: ['PATH=/usr/sbin:/usr/bin'],
      ExposedPorts: { '2947/tcp': {} },
    },
    (root) => {
      addTools(root)
      copyProgram(findProgram('gpsd')!, root.path)
      root.folder('run')
    },
    'gpsd:x:102:20::/run/gpsd:/bin/false\nnobody:x:65534:65534::/nonexistent:/bin/false\n',
  )

/** A program that writes its configuration with sed, gives up root, and listens on port 80 as an ordinary user. */
export const templateImage = (): Buffer =>
  makeImage(
    'template',
    { Entrypoint: ['/entry'], Env: ['PATH=/usr/bin', 'TITLE=default'], ExposedPorts: { '80/tcp': {} } },
    (root) => {
      addTools(root)
      root.file('etc/app/index.html', 'title: @TITLE@\n')
      root.script(
        'entry',
        `#!/bin/sh
set -e
sed -i "s/@TITLE@/$TITLE/" /etc/app/index.html
echo "$TITLE" > /etc/app/owned && chown 33:33 /etc/app/owned
${asUser('33')} httpd -f -p 80 -h /etc/app
`,
      )
    },
  )
