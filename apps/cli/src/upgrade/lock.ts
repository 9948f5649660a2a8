/**
 * One change of an installation at a time. Each process writes a lock of its own and then reads the locks of others, so of two that begin
 * together, at most one continues. A lock names its process, so one that was killed leaves nothing locked.
 */
import { readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { UsageError } from '../failure.ts'
import { readLink } from './durable.ts'

const prefixOfLocks = 'upgrade.lock.'

/** @throws UsageError while another process changes the installation */
export async function locked<T>(prefix: string, change: () => T | Promise<T>): Promise<T> {
  const own = join(prefix, `${prefixOfLocks}${process.pid}`)
  rmSync(own, { force: true })
  symlinkSync(identityOf(process.pid)!, own)
  try {
    expectNoOther(prefix)
    return await change()
  } finally {
    rmSync(own, { force: true })
  }
}

function expectNoOther(prefix: string): void {
  for (const name of readdirSync(prefix).filter((each) => each.startsWith(prefixOfLocks))) {
    const pid = Number(name.slice(prefixOfLocks.length))
    const path = join(prefix, name)
    const found = readLink(path)
    if (pid === process.pid || found === undefined) continue
    if (found === identityOf(pid))
      throw new UsageError(`process ${pid} is changing this installation`, 'Wait for it, and try again.')
    rmSync(path, { force: true })
  }
}

/** Run of the machine and start time of a process, in clock ticks: another process with its number has another. */
function identityOf(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    // The name of the program, in parentheses, may have any characters; the start time is field 22.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return `${boot}:${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`
  } catch {
    return undefined
  }
}
