/**
 * Images for tests, of programs that are installed on this machine from Debian's packages: a base with nothing but the C and C++
 * libraries, and stand-ins for the images of PostgreSQL, Redis and haproxy with the settings that `deploy/compose.yaml` uses.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findPostgres } from '@selvedge/service-kit/testing'
import { findProgram } from '../../harness/installed.ts'

/** Builds an image. @param config lines of a Containerfile after its files were added */
export type Build = (tag: string, files: string, config: string) => void

/** Copies a file and the libraries that it needs to the same paths. */
export function copyProgram(path: string, target: string): void {
  copy(path, target)
  copyLibraries(path, target)
}

function copyLibraries(program: string, target: string): void {
  // It fails for a program that needs no library.
  const { stdout } = spawnSync('ldd', [program], { encoding: 'utf8' })
  for (const [library] of stdout.matchAll(/\/\S+(?= \(0x)/g)) copy(library, target)
}

/** Copies a file or folder to where it really is; a link leads there if the system has one (`/lib64`). */
function copy(path: string, target: string): void {
  const real = realpathSync(path)
  const to = join(target, real)
  mkdirSync(dirname(to), { recursive: true })
  cpSync(real, to, { recursive: true, dereference: true })
  if (real === path || existsSync(join(target, path))) return
  mkdirSync(dirname(join(target, path)), { recursive: true })
  symlinkSync(real, join(target, path))
}

/** A file system with the folders and links that every Debian has. */
export function makeRoot(folder: string, users = ''): void {
  for (const each of [
    'usr/bin',
    'usr/sbin',
    'usr/lib',
    'usr/lib64',
    'etc',
    'tmp',
    'run',
    'dev',
    'proc',
    'sys',
  ])
    mkdirSync(join(folder, each), { recursive: true })
  for (const each of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${each}`, join(folder, each))
  writeFileSync(join(folder, 'etc/passwd'), `root:x:0:0::/:/bin/sh\n${users}`)
  writeFileSync(join(folder, 'etc/group'), `root:x:0:\n`)
  writeFileSync(join(folder, 'etc/nsswitch.conf'), 'hosts: files dns\n')
}

/** The C and C++ libraries, as Node.js needs them; no shell, and no user but root. */
export function buildBase(build: Build, folder: string): void {
  makeRoot(folder)
  copyLibraries(process.execPath, folder)
  build('base', folder, '')
}

const runBusybox = (...args: string[]): string =>
  `RUN ${JSON.stringify([realpathSync(findProgram('busybox')!), ...args])}`

/** busybox as the shell and its tools, and getent. */
export function addShell(folder: string): void {
  const busybox = findProgram('busybox')!
  copyProgram(busybox, folder)
  copyProgram(findProgram('getent')!, folder)
  for (const each of ['sh', 'cat', 'grep', 'sed', 'tr', 'sleep', 'mkdir', 'chmod', 'ls', 'id'])
    symlinkSync(realpathSync(busybox), join(folder, 'usr/bin', each))
}

export function buildHaproxy(build: Build, folder: string): void {
  makeRoot(folder)
  copyProgram('/usr/sbin/haproxy', folder)
  build('haproxy', folder, '')
}

export function buildRedis(build: Build, folder: string): void {
  makeRoot(folder, 'redis:x:999:999::/:/bin/sh\n')
  addShell(folder)
  for (const each of ['redis-server', 'redis-cli']) copyProgram(findProgram(each)!, folder)
  mkdirSync(join(folder, 'data'))
  build('redis', folder, runBusybox('chown', '999:999', '/data'))
}

/** What the entry point of the official image does with the variables and folders that `compose.yaml` uses. */
const prepareDatabase = `#!/bin/sh
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA" && chmod 0700 "$PGDATA"
  initdb --no-sync -U "$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth-local=trust --auth-host=scram-sha-256 >/dev/null
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  pg_ctl -D "$PGDATA" -o '-c listen_addresses=' -w start >/dev/null
  psql -q -U "$POSTGRES_USER" -d postgres -c "CREATE DATABASE $POSTGRES_DB"
  for each in /docker-entrypoint-initdb.d/*; do psql -q -U "$POSTGRES_USER" -d "$POSTGRES_DB" -f "$each"; done
  pg_ctl -D "$PGDATA" -m fast -w stop >/dev/null
fi
exec "$@"
`

export function buildPostgres(build: Build, folder: string): void {
  const programs = realpathSync(findPostgres()!)
  const version = dirname(programs)
  makeRoot(folder, 'postgres:x:999:999::/:/bin/sh\n')
  addShell(folder)
  for (const each of ['postgres', 'initdb', 'pg_ctl', 'psql', 'pg_isready', 'pg_dump'])
    copyProgram(join(programs, each), folder)
  for (const each of ['plpgsql.so', 'dict_snowball.so', 'utf8_and_iso8859_1.so', 'libpqwalreceiver.so'])
    if (existsSync(join(version, 'lib', each))) copyProgram(join(version, 'lib', each), folder)
  copy(version.replace('/usr/lib/', '/usr/share/'), folder)
  for (const each of ['/usr/share/zoneinfo/UTC', '/usr/share/zoneinfo/Etc'])
    if (statSync(each, { throwIfNoEntry: false })) copy(each, folder)
  writeFileSync(join(folder, 'entry'), prepareDatabase, { mode: 0o755 })
  mkdirSync(join(folder, 'docker-entrypoint-initdb.d'))
  mkdirSync(join(folder, 'var/lib/postgresql/data'), { recursive: true })
  mkdirSync(join(folder, 'run/postgresql'))
  symlinkSync('/run', join(folder, 'var/run'))
  const config = [
    runBusybox('chown', '999:999', '/var/lib/postgresql/data'),
    runBusybox('chmod', '1777', '/run/postgresql', '/tmp'),
    `ENV PATH=${programs}:/usr/bin TZ=UTC`,
    'ENTRYPOINT ["/entry"]',
    'STOPSIGNAL SIGINT',
    'CMD ["postgres", "-c", "listen_addresses=*"]',
  ]
  build('postgres', folder, config.join('\n'))
}
