import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { findBrowser, findProgram } from './installed.ts'
import { stepLimitMs } from './limits.ts'

/** A Chromium that connects only to the hosts of the test. */
export const launchBrowser = (...more: readonly string[]): Promise<Browser> => launch(findBrowser()!, more)

/** The Chromium with a window, for what the other one does not have, such as reports of the Reporting API. */
export const launchWholeBrowser = (...more: readonly string[]): Promise<Browser> =>
  launch(findProgram('chromium')!, more)

async function launch(program: string, more: readonly string[]): Promise<Browser> {
  const folder = mkdtempSync(join(tmpdir(), 'chromium-'))
  const browser = await start(withoutNetlink(program, folder), more)
  const newContext = browser.newContext.bind(browser)
  browser.newContext = async (options) => {
    const context = await newContext(options)
    context.setDefaultTimeout(stepLimitMs)
    return context
  }
  browser.on('disconnected', () => rmSync(folder, { recursive: true, force: true }))
  return browser
}

/** Bubblewrap copies all mounts of the machine, and fails if one of them, such as that of a container of another test, is removed then. */
const isRemovedMount = /bwrap: Can't bind mount/

async function start(executablePath: string, more: readonly string[], attemptsLeft = 5): Promise<Browser> {
  const args = [
    '--no-sandbox',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    ...more,
  ]
  try {
    return await chromium.launch({ executablePath, args })
  } catch (cause) {
    if (attemptsLeft === 1 || !isRemovedMount.test(String(cause))) throw cause
    return start(executablePath, more, attemptsLeft - 1)
  }
}

/**
 * Chromium drops all its connections (ERR_NETWORK_CHANGED) when an address of the machine changes, and containers of other tests change
 * them. It learns of them by netlink sockets; a filter of system calls refuses to make them.
 *
 * @returns a program that starts it so; Chromium itself without bubblewrap
 */
function withoutNetlink(program: string, folder: string): string {
  const bubblewrap = findProgram('bwrap')
  if (bubblewrap === undefined) return program
  const filter = join(folder, 'filter')
  writeFileSync(filter, Buffer.concat(refuseNetlink.map(instruction)))
  const script = join(folder, 'chromium')
  const command = `exec '${bubblewrap}' --dev-bind / / --die-with-parent --seccomp 9 '${program}' "$@" 9<'${filter}'`
  writeFileSync(script, `#!/bin/sh\n${command}\n`, { mode: 0o755 })
  return script
}

const load = (offset: number) => [0x20, 0, 0, offset] as const
/** @param whenEqual how many instructions to skip. @param otherwise likewise */
const compare = (value: number, whenEqual: number, otherwise: number) =>
  [0x15, whenEqual, otherwise, value] as const
const answer = (value: number) => [0x06, 0, 0, value] as const

/** A program for the kernel (seccomp(2), `struct seccomp_data`): `socket(AF_NETLINK, …)` fails with EAFNOSUPPORT. */
const refuseNetlink = [
  load(4),
  // x86_64, arm64: what `socket` is there.
  compare(0xc000003e, 1, 0),
  compare(0xc00000b7, 2, 6),
  load(0),
  compare(41, 2, 4),
  load(0),
  compare(198, 0, 2),
  load(16),
  compare(16, 1, 0),
  answer(0x7fff0000),
  answer(0x00050000 | 97),
]

function instruction([code, whenEqual, otherwise, value]: readonly [number, number, number, number]): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(whenEqual, 2)
  bytes.writeUInt8(otherwise, 3)
  bytes.writeUInt32LE(value, 4)
  return bytes
}
