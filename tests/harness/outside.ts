/**
 * A network beyond this device, for containers that connect to it: a namespace with an address of a local network, public addresses and a
 * link-local one, as metadata services have. Routes of this machine lead these addresses there, and to nowhere once the namespace has gone:
 * no packet leaves the machine. Needs root.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stepLimitMs } from './limits.ts'

export interface Outside {
  /** Public addresses there; each answers HTTP on the ports 80 and 8080 with `outside`. */
  readonly publicAddresses: readonly [string, string]
  /** Another host of the local network, with the same services; and this device in it. */
  readonly local: string
  readonly device: string
  /** Another address of this device, a public one. */
  readonly devicePublic: string
  /** A link-local address there; not the one that metadata services have. */
  readonly linkLocal: string
  /** Runs a program there. @returns what it wrote */
  run(...command: readonly string[]): string
  remove(): void
}

/** Metric of routes that count only where there is no other one. */
const last = '4000000000'

function ip(...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr ?? error?.message}`)
}

export function makeOutside(): Outside {
  const id = process.pid % 250
  const space = `svout${process.pid}`
  const port = `svout${process.pid % 1_000_000}`
  const [local, device] = [`10.191.${id}.2`, `10.191.${id}.1`]
  const publicAddresses = [`25.77.${id}.10`, `25.77.${id}.11`] as const
  const devicePublic = `25.77.${id}.1`
  const linkLocal = `169.254.${id}.77`
  const folder = mkdtempSync(join(tmpdir(), 'outside-'))
  writeFileSync(join(folder, 'index.html'), 'outside')
  const servers: ReturnType<typeof spawn>[] = []
  const routed = [`25.77.${id}.0/24`, `${linkLocal}/32`]
  const remove = () => {
    for (const each of servers) each.kill()
    spawnSync('ip', ['link', 'del', port])
    spawnSync('ip', ['netns', 'del', space])
    for (const each of routed) spawnSync('ip', ['route', 'del', 'blackhole', each, 'metric', last])
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    for (const each of routed) ip('route', 'add', 'blackhole', each, 'metric', last)
    ip('netns', 'add', space)
    ip('link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space)
    ip('addr', 'add', `${device}/24`, 'dev', port)
    ip('addr', 'add', `${devicePublic}/32`, 'dev', port)
    ip('link', 'set', port, 'up')
    ip('-n', space, 'link', 'set', 'lo', 'up')
    ip('-n', space, 'addr', 'add', `${local}/24`, 'dev', 'eth0')
    ip('-n', space, 'link', 'set', 'eth0', 'up')
    for (const each of [...publicAddresses, linkLocal])
      ip('-n', space, 'addr', 'add', `${each}/32`, 'dev', 'lo')
    ip('-n', space, 'route', 'add', 'default', 'via', device)
    for (const each of routed) ip('route', 'add', each, 'via', local)
  } catch (cause) {
    remove()
    throw cause
  }
  for (const each of ['80', '8080'])
    servers.push(
      spawn('ip', ['netns', 'exec', space, 'busybox', 'httpd', '-f', '-p', each, '-h', folder], {
        stdio: 'ignore',
      }),
    )
  return {
    publicAddresses,
    local,
    device,
    devicePublic,
    linkLocal,
    run(...command) {
      const { stdout, stderr } = spawnSync('ip', ['netns', 'exec', space, ...command], {
        encoding: 'utf8',
        timeout: stepLimitMs,
      })
      return stdout + stderr
    },
    remove,
  }
}
