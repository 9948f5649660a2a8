/** A real squid in a namespace. It gives up root, and so reads its files as its own user. */
import { type ChildProcess, execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, vi } from 'vitest'
import { spawnIn } from './cloud-host.ts'
import { stepLimitMs } from './limits.ts'

const run = promisify(execFile)

/** What all of them have. */
const common = (at: (name: string) => string) => `
cache deny all
cache_effective_user proxy
pid_filename ${at('pid')}
access_log stdio:${at('access.log')}
cache_log ${at('cache.log')}
coredump_dir ${at('.')}
shutdown_lifetime 0 seconds
`

/** Lines of settings: a user name and a password are needed. */
export const passwordSettings = (at: (name: string) => string) => `
auth_param basic program /usr/lib/squid/basic_ncsa_auth ${at('passwords')}
auth_param basic children 1
acl known proxy_auth REQUIRED
`

/** Writes the file of passwords. @param folder of squid, which is made */
export async function writePasswords(folder: string, user: string, password: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const { stdout } = await run('openssl', ['passwd', '-apr1', password])
  writeFileSync(join(folder, 'passwords'), `${user}:${stdout}`)
}

/** @param folder for its files, perhaps with some @param settings lines beside the common ones */
export async function startSquid(space: string, folder: string, settings: string): Promise<ChildProcess> {
  const at = (name: string) => join(folder, name)
  mkdirSync(folder, { recursive: true })
  chmodSync(dirname(folder), 0o711)
  writeFileSync(at('squid.conf'), settings + common(at))
  await run('chown', ['-R', 'proxy:', folder])
  const child = spawnIn(space, '/usr/sbin/squid', '-N', '-f', at('squid.conf'))
  const log = () => (existsSync(at('cache.log')) ? readFileSync(at('cache.log'), 'utf8') : '')
  // It logs the ports one after the other.
  const ports = settings.match(/^http_port /gm)?.length ?? 0
  await vi.waitFor(() => expect(log().match(/Accepting /g)).toHaveLength(ports), { timeout: stepLimitMs })
  return child
}
