/** The program of a container: its user, its signals, the names that it finds. */
import { listOf, withoutRepeats } from './lists.ts'

const userPart = /^(?:[A-Za-z_][A-Za-z0-9_.-]{0,31}|\d{1,5})$/
export const isUserPart = (part: string) => userPart.test(part) && !(Number(part) > 65_535)

/** Signals that make a program read its files again. */
export const reloadSignals = [
  'SIGHUP',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
  'SIGTERM',
  'SIGINT',
  'SIGQUIT',
] as const

/** Signals that end a program in order. */
export const stopSignals = [
  ...['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH', 'SIGPWR', 'SIGKILL'],
  ...['SIGRTMIN+3'],
] as const

/** What root in a container may do at most: see "users of containers" in docs/services.md. */
export const containerCapabilities = [
  ...['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_BIND_SERVICE'],
  ...['SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
] as const

export function readCapabilities(text: string): readonly string[] | undefined {
  const names = listOf(/^[A-Z_]{3,32}$/, text)
  const isKnown = (each: string) => containerCapabilities.some((known) => known === each)
  return names && withoutRepeats(names) && names.every(isKnown) ? names : undefined
}

/** A name of a host, as engines accept it. */
export const isHostName = (text: string): boolean =>
  /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/.test(text)

const isIpv4 = (text: string) =>
  /^\d{1,3}(?:\.\d{1,3}){3}$/.test(text) && text.split('.').every((each) => Number(each) < 256)
const isIpv6 = (text: string) => /^(?=.*:.*:)[0-9a-f:]{2,39}$/.test(text) && !/:::|::.*::/.test(text)

export function readHosts(text: string): readonly string[] | undefined {
  const hosts = listOf(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?=[0-9a-f.:]{2,39}$/, text.toLowerCase())
  const isHost = (each: string) => {
    const address = each.slice(each.indexOf('=') + 1)
    return isIpv4(address) || isIpv6(address)
  }
  return hosts && hosts.length <= 64 && hosts.every(isHost) ? hosts : undefined
}

/** Files and sockets that a process may have open. */
export const openFiles = { min: 256, usual: 1024, max: 65_536 } as const

export function readOpenFiles(text: string): number | undefined {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : 0
  return value >= openFiles.min && value <= openFiles.max ? value : undefined
}
