/** What a sign-in opens on a desktop: a page, and nothing else. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { findOpener, isPlain, openPage } from './browser.ts'
import type { Terminal } from './terminal.ts'

let folder: string
const opened = () => join(folder, 'opened')
const terminal = (isInteractive: boolean) => ({ isInteractive }) as Terminal
const desktop = () => ({ DISPLAY: ':0', PATH: `relative:${folder}:/usr/bin` })

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-'))
  writeFileSync(
    join(folder, 'xdg-open'),
    `#!/bin/sh\n{ printf '%s|' "$@"; kill -0 -$$ && echo 'own group'; test -c /dev/stdin && echo 'no input'; } > '${folder}/draft'\nmv '${folder}/draft' '${opened()}'\n`,
  )
  chmodSync(join(folder, 'xdg-open'), 0o755)
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('the page of a sign-in', () => {
  it('is opened on a desktop, as the only argument of its opener, which continues without this program', async () => {
    const url = 'https://id.example/device?user_code=BCDF-GHJK'
    expect(openPage(url, terminal(true), desktop(), 'linux')).toBe(true)
    await vi.waitUntil(() => existsSync(opened()), { timeout: 120_000 })
    expect(readFileSync(opened(), 'utf8')).toBe(`${url}|own group\nno input\n`)
  })

  it('is not opened where no person watches, without a display, or without an opener', () => {
    const url = 'https://id.example/device'
    expect(openPage(url, terminal(false), desktop(), 'linux')).toBe(false)
    expect(openPage(url, terminal(true), { PATH: folder }, 'linux')).toBe(false)
    // A folder of the current one may be a stranger's.
    const own = relative(process.cwd(), folder)
    expect(openPage(url, terminal(true), { DISPLAY: ':0', PATH: `${own}:` }, 'linux')).toBe(false)
    expect(openPage(url, terminal(true), { DISPLAY: ':0' }, 'linux')).toBe(false)
    expect(existsSync(opened())).toBe(false)
  })

  it('is opened by the program of the desktop', () => {
    expect(findOpener({}, 'darwin')).toBe('/usr/bin/open')
    expect(findOpener({ WAYLAND_DISPLAY: 'x', PATH: folder }, 'linux')).toBe(join(folder, 'xdg-open'))
    expect(findOpener({ DISPLAY: ':0' }, 'linux')).toBeUndefined()
    chmodSync(join(folder, 'xdg-open'), 0o644)
    expect(findOpener({ DISPLAY: ':0', PATH: folder }, 'linux')).toBeUndefined()
  })

  it.each([
    'xhttps://id.example',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'FILE:///etc/passwd',
    'data:text/html,x',
    '--help',
    '-a',
    '/usr/bin/id',
    'ftp://id.example/x',
    'https://id.example/$(touch x)',
    'https://id.example/`id`',
    'https://id.example/;id',
    'https://id.example/|id',
    "https://id.example/'x",
    'https://id.example/"x',
    'https://id.example/x y',
    'https://id.example/x\nfile:///x',
    'https://id.example@other.example/x',
    'https://',
    '',
  ])('is not opened as %j', (url) => {
    expect(isPlain('http://127.0.0.1:8083/x')).toBe(true)
    expect(isPlain(url)).toBe(false)
    expect(openPage(url, terminal(true), desktop(), 'linux')).toBe(false)
    expect(existsSync(opened())).toBe(false)
  })
})
