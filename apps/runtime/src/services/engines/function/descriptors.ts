import { readdirSync, readFileSync } from 'node:fs'

const closeOnExec = 0o2000000

/**
 * Descriptors of this process that its children would inherit: not what Node opens, which is closed on exec, but what the
 * program that started the runtime left open.
 */
export function inheritableDescriptors(): number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((each) => each > 2 && isInheritable(each))
}

function isInheritable(descriptor: number): boolean {
  try {
    const flags = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0
  } catch (cause) {
    // The descriptor of the listing itself is closed by now.
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw cause
  }
}
