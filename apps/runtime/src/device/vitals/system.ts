/** The device as its operating system reports it. */
import { readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { arch, availableParallelism, freemem, loadavg, totalmem, uptime } from 'node:os'
import type { DeviceVitals } from '@selvedge/protocol/tokens'
import { plain } from './fit.ts'

type SystemVitals = Pick<
  DeviceVitals,
  'system' | 'arch' | 'uptimeSeconds' | 'cores' | 'load' | 'memory' | 'disk'
>

/** @param folder on the file system to state */
export async function systemVitals(folder: string): Promise<SystemVitals> {
  const system = systemName()
  const totalBytes = totalmem()
  return {
    ...(system !== '' && { system }),
    arch: arch(),
    uptimeSeconds: Math.round(uptime()),
    cores: availableParallelism(),
    load: Math.round(loadavg()[0]! * 100) / 100,
    memory: { usedBytes: Math.max(0, totalBytes - freemem()), totalBytes },
    disk: await diskOf(folder),
  }
}

async function diskOf(folder: string): Promise<DeviceVitals['disk']> {
  try {
    const { blocks, bavail, bfree, bsize } = await statfs(folder)
    const usedBytes = (blocks - bfree) * bsize
    return { usedBytes, totalBytes: usedBytes + bavail * bsize }
  } catch {
    return null
  }
}

/** `PRETTY_NAME` of os-release(5); "" without one. */
export function systemName(path = '/etc/os-release'): string {
  try {
    const name = /^PRETTY_NAME=(["']?)(.*)\1$/m.exec(readFileSync(path, 'utf8'))?.[2] ?? ''
    return plain(name, 80).trim()
  } catch {
    return ''
  }
}
