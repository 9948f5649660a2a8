/**
 * Every command of the README, from top to bottom, in one terminal and one state folder, with a person at a browser. Only the
 * ports differ: a stack may run on the default ones.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { freePort } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { discoveryOptions } from '../../../apps/discovery/src/config.ts'
import { identityOptions } from '../../../apps/identity/src/config.ts'
import { runtimeOptions } from '../../../apps/runtime/src/config.ts'
import { enterByLink } from '../../harness/console.ts'
import { type Watched, watch } from '../../harness/gate.ts'
import { has, needs } from '../../harness/installed.ts'
import { becomeOwner, openBrowser } from '../../harness/person.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'

const ports = { runtime: await freePort(), identity: await freePort(), discovery: await freePort() }
/** What the README has, and what it is here. */
const defaults = [
  [runtimeOptions['listen.port'].fallback, ports.runtime],
  [identityOptions['listen.port'].fallback, ports.identity],
  [discoveryOptions['listen.port'].fallback, ports.discovery],
] as const
const written = readFileSync(join(root, 'README.md'), 'utf8')
const readme = defaults.reduce((text, [from, to]) => text.replaceAll(`:${from}`, `:${to}`), written)
/** The lines of every block in a language, without the commands that start the stack and this test. */
const linesOf = (language: RegExp): string =>
  [...readme.matchAll(/^( *)```(\w+)\n([\s\S]*?)^ *```/gm)]
    .filter(([, , name = '']) => language.test(name))
    .map(([, indent = '', , block = '']) => block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
    .join('\n')
    .replaceAll(/^npm (start|test).*$/gm, '')

let folder: Awaited<ReturnType<typeof temporaryFolder>>
/** As the clone: all of it is there, and what the commands make is not put into the real one. */
let clone: string
let stack: ChildProcess
let watched: Watched
let output = ''
const env = () => ({
  ...process.env,
  SELVEDGE_STATE: join(folder.path, 'state'),
  HOME: join(folder.path, 'home'),
  XDG_CONFIG_HOME: '',
  SELVEDGE_RUNTIME_PORT: String(ports.runtime),
  SELVEDGE_IDENTITY_PORT: String(ports.identity),
  SELVEDGE_DISCOVERY_PORT: String(ports.discovery),
})

const isOpen = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

beforeAll(async () => {
  folder = await temporaryFolder()
  clone = join(folder.path, 'clone')
  for (const each of ['home', 'clone']) mkdirSync(join(folder.path, each))
  for (const each of readdirSync(root)) if (each !== '.git') symlinkSync(join(root, each), join(clone, each))
  stack = spawn('npm', ['start'], { cwd: root, env: env(), stdio: ['ignore', 'pipe', 'pipe'] })
  watched = watch('npm start', stack)
  stack.stdout!.on('data', (chunk) => {
    output += chunk
  })
  for (let attempt = 0; attempt < 600 && !output.includes('owner '); attempt++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  watched.mustRun()
})
afterAll(async () => {
  watched.expectEnd()
  if (stack.exitCode === null) stack.kill('SIGTERM')
  await folder.remove()
})

it('npm start prints that it is ready, with the three URLs, and writes them down', () => {
  const urls = {
    runtime: `http://127.0.0.1:${ports.runtime}`,
    identity: `http://127.0.0.1:${ports.identity}`,
    discovery: `http://127.0.0.1:${ports.discovery}`,
  }
  const lines = Object.entries(urls).map(([name, url]) => `  ${name.padEnd(10)} ${url}`)
  expect(output).toContain(`selvedge is ready\n${lines.join('\n')}\n`)
  expect(JSON.parse(readFileSync(join(folder.path, 'state/stack.json'), 'utf8'))).toEqual(urls)
})

it('the README names the default port of each program', () => {
  for (const [port] of defaults) expect(written).toContain(`http://localhost:${port}/`)
})

interface Person {
  /** Approves the sign-in of a terminal: the page that it shows has the code already. */
  approve(page: string, userCode: string): Promise<void>
  close(): Promise<void>
}

/** Opens the owner's link: in Chromium where it is installed, otherwise with the calls that the pages make. */
async function openOwnerLink(): Promise<Person> {
  const [, link = ''] = /owner +(http\S+)/.exec(output)!
  if (!has('chromium-headless-shell')) {
    const session = await enterByLink(`http://127.0.0.1:${ports.identity}`, link, 'ada@example.com')
    return {
      approve: async (_, userCode) => {
        await session.api['device_request.decide']({ userCode, approve: true })
      },
      close: async () => undefined,
    }
  }
  const { page, close } = await openBrowser()
  await becomeOwner(page, link)
  return {
    async approve(url, userCode) {
      await page.goto(url)
      await page.getByText(userCode).waitFor()
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByRole('heading', { name: 'Approved' }).waitFor()
    },
    close,
  }
}

/** What a person does with the commands that do not end by themselves, or last long: Ctrl-C, and a smaller fleet. */
const prelude = `set -euo pipefail
npx() {
  case "$2" in
    dev)
      node_modules/.bin/selvedge "\${@:2}" > ~/dev.log 2>&1 &
      until grep -q deployed ~/dev.log; do kill -0 $! || return 1; sleep 0.1; done
      kill -INT $! && wait $!
      cat ~/dev.log ;;
    simulate) command npx selvedge simulate --nodes 20 --rate 20 --seconds 1 ;;
    *) command npx "$@" ;;
  esac
}
`

it('every command does what the README says, from top to bottom', {
  ...needs('bash', 'curl'),
}, async () => {
  const lines = linesOf(/^(sh|bash)$/)
  for (const command of ['selvedge up', 'getEdgeIdToken', 'dev hello', 'simulate'])
    expect(lines).toContain(command)
  const person = await openOwnerLink()
  const terminal = spawn('bash', ['-c', prelude + lines], {
    cwd: clone,
    env: env(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  let approving: Promise<void> | undefined
  terminal.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  terminal.stderr.on('data', (chunk) => {
    stderr += chunk
    const [, page, code] = /Open +(http\S+)\s+Code +(\S+)/.exec(stderr) ?? []
    if (page && code) approving ??= person.approve(page, code)
  })
  const [code] = await once(terminal, 'close')
  await approving
  await person.close()
  expect(code, `${stdout}\n${stderr}`).toBe(0)

  const devices = `http://localhost:${ports.identity}/devices/`
  expect(stdout).toMatch(new RegExp(`^\\S+ belongs to your account: ${devices}[0-9a-f]{56}$`, 'm'))
  const [, account] = /associated with account (\S+)/.exec(stdout)!
  expect(stdout).toContain(`"result":{"accountId":"${account}"}`)
  expect(stdout).toMatch(new RegExp(`"accountId":"${account}","name":"[^"]*","version":"[^"]*"`))
  expect(stdout).toContain('{"id":null,"jsonrpc":"2.0","result":{"status":"ok"}}')
  expect(stdout).toContain('{"name":"visits","count":1}')
  expect(stdout).toContain('"reason":"token_missing"')
  expect(stdout).toMatch(/"longitude":-123\.115,"latitude":49\.25,"speed":10\.5,"bearing":350/)
  expect(stdout).toMatch(/deployed \S+-hello \(function\)/)
  expect(stdout).toMatch(/fleet +20 devices/)
})

it('the program of the README runs in the clone', async () => {
  const program = `${linesOf(/^ts$/)}\nconsole.log(JSON.stringify({ nodeId, accountId }))`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: clone,
    env: env(),
  })
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  await once(child, 'close')
  expect(JSON.parse(printed)).toEqual({
    nodeId: expect.stringMatching(/^[0-9a-f]{56}$/),
    accountId: expect.any(String),
  })
})

it('SIGTERM ends all of it', async () => {
  watched.expectEnd()
  const ended = once(stack, 'exit')
  stack.kill('SIGTERM')
  await ended
  // npm ends before the programs do.
  await expect.poll(() => Promise.all(Object.values(ports).map(isOpen))).toEqual([false, false, false])
  expect(existsSync(join(folder.path, 'state/stack.json'))).toBe(false)
})
