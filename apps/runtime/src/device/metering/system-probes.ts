/** What the system knows of its links: NetworkManager over D-Bus, and files of the kernel. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { safely } from '@selvedge/service-kit/safely'
import { defaultInterfaceIn, type LinkProbes, readMetered } from './metered-link.ts'

/** Bytes of an answer of the system, and milliseconds until it must be there. */
const limits = { answerBytes: 4096, answerMs: 2000 } as const

const manager = 'org.freedesktop.NetworkManager'

/** The state of this machine. */
export const systemProbes: LinkProbes = {
  networkManager() {
    if (!existsSync('/run/NetworkManager')) return Promise.resolve(undefined)
    const property = ['get-property', manager, '/org/freedesktop/NetworkManager', manager, 'Metered']
    const options = { timeout: limits.answerMs, maxBuffer: limits.answerBytes }
    return new Promise((resolve) => {
      const answered = safely('link.manager', (cause: unknown, text: string) =>
        resolve(cause ? undefined : readMetered(text)),
      )
      execFile('busctl', ['--system', ...property], options, answered)
    })
  },
  defaultInterface: () => defaultInterfaceIn(readSmall('/proc/net/route')),
  kindOf: (name) => /^DEVTYPE=(\w{1,20})$/m.exec(readSmall(`/sys/class/net/${name}/uevent`))?.[1],
}

/** Files of the kernel. Without one, such as on another system, nothing is known. */
function readSmall(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
