/** The command line finds the runtime and the identity service of a Debian package without an option, and trusts only the folders that root made for them. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cliPath } from '../../harness/cli.ts'
import { needs } from '../../harness/installed.ts'
import { root } from '../../harness/processes.ts'

/** Runs a script of root with a /run and a /var/lib of its own, and without a network but its own loopback. */
const inOwnFolders = (script: string) =>
  execFileSync(
    'unshare',
    [
      '--mount',
      '--net',
      'sh',
      '-euc',
      `ip link set lo up; mount -t tmpfs -o mode=755 t /run; mount -t tmpfs -o mode=755 t /var/lib; ${script}`,
    ],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH, HOME: '/run' } },
  )

/** A runtime as the unit of the package starts it, as the user `uid`. */
const startRuntime = (uid: number, socket = '/run/selvedge/runtime.sock') => `
  install -d -o ${uid} -g ${uid} -m 0700 /var/lib/selvedge
  install -d -o ${uid} -g ${uid} -m 0750 $(dirname ${socket})
  setpriv --reuid=${uid} --regid=${uid} --clear-groups env SELVEDGE_STATE=/var/lib/selvedge SELVEDGE_LINK_LOCAL=false \\
    ${process.execPath} ${join(root, 'apps/runtime/dist/main.cjs')} --listen.socket=${socket} $options >/run/log 2>&1 &
  runtime=$!
  trap 'kill $runtime; wait $runtime || true' EXIT
  for i in $(seq 300); do [ -S ${socket} ] && break; sleep 0.1; done`

const selvedge = `${process.execPath} ${cliPath}`

describe('the command line on a device with the package', needs('root', 'mounts', 'ip', 'setpriv'), () => {
  it('reaches the runtime as root and as a member of its group, without a question', () => {
    const out = inOwnFolders(`options=; cd /; ${startRuntime(991)}
      ${selvedge} me -v 2>&1
      setpriv --reuid=1000 --regid=1000 --groups=991 env HOME=/nonexistent ${selvedge} me -v 2>&1`)
    const [asRoot, asMember] = out.match(/[0-9a-f]{56}/g)!
    expect(asMember).toBe(asRoot)
    expect(out.match(/--unix-socket \S*/g)).toEqual(Array(2).fill('--unix-socket /run/selvedge/runtime.sock'))
  })

  it('sends the API key of the runtime as root, and no file that a link in its folder leads to', () => {
    const out = inOwnFolders(`options=--apiKey=true; cd /; ${startRuntime(991)}
      ${selvedge} call verifyEdgeHmacCode x y z 2>&1 | head -1 || true
      echo secret > /run/secret; chmod 600 /run/secret
      rm /var/lib/selvedge/api-key; ln -s /run/secret /var/lib/selvedge/api-key
      ${selvedge} call verifyEdgeHmacCode x y z 2>&1 | head -1 || true`)
    const [withKey, withLink] = out.trim().split('\n')
    expect(withKey).not.toContain('api_key_invalid')
    expect(withLink).toContain('is a symbolic link')
  })

  it('sends no file of root that the service has linked into its folder, and reads no endless one', () => {
    const out = inOwnFolders(`options=--apiKey=true; cd /; ${startRuntime(991)}
      echo secret > /var/lib/secret; chmod 600 /var/lib/secret
      rm /var/lib/selvedge/api-key; ln /var/lib/secret /var/lib/selvedge/api-key
      ${selvedge} call verifyEdgeHmacCode x y z 2>&1 | head -1 || true
      rm /var/lib/selvedge/api-key; truncate -s 1G /var/lib/selvedge/api-key; chown 991 /var/lib/selvedge/api-key
      ${selvedge} call verifyEdgeHmacCode x y z 2>&1 | head -1 || true`)
    const [withLink, withLongOne] = out.trim().split('\n')
    expect(withLink).toContain('is of user 0')
    expect(withLongOne).toContain('1073741824 bytes')
  })

  it.each([
    ['others can write to /run', 'chmod 1777 /run;', ''],
    [
      'the folder is a link',
      'mkdir -m 755 /run/elsewhere; ln -s elsewhere /run/selvedge;',
      '/run/elsewhere/runtime.sock',
    ],
  ])('does not trust the socket if %s', (_, before, socket) => {
    const out = inOwnFolders(`options=; cd /; ${before} ${startRuntime(991, socket || undefined)}
      ${selvedge} me -v 2>&1`)
    expect(out).toContain('http://127.0.0.1:8083')
    expect(out).not.toContain('--unix-socket')
  })
})
