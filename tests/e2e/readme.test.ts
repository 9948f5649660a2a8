import { execFile, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { needs } from '../harness/installed.ts'
import { root, temporaryFolder } from '../harness/processes.ts'

const readme = readFileSync(join(root, 'README.md'), 'utf8')
const part = readme.slice(readme.indexOf('<!-- flow'), readme.indexOf('<!-- end of flow -->'))
const lines = [...part.matchAll(/^( *)```bash\n([\s\S]*?)^ *```/gm)]
  .map(([, indent = '', block = '']) => block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
  .join('\n')

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let stack: ReturnType<typeof spawn>
let output = ''
const env = () => ({ ...process.env, SELVEDGE_STATE: folder.path })

const isOpen = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

beforeAll(async () => {
  folder = await temporaryFolder()
  expect(await isOpen(8083), 'port 8083 is in use: stop the stack that runs on this machine').toBe(false)
  stack = spawn('npm', ['start'], { cwd: root, env: env(), stdio: ['ignore', 'pipe', 'pipe'] })
  stack.stdout!.on('data', (chunk) => {
    output += chunk
  })
  stack.stderr!.on('data', (chunk) => {
    output += chunk
  })
  for (let attempt = 0; attempt < 600 && !output.includes('selvedge is ready'); attempt++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
})
afterAll(() => folder.remove())

it('npm start prints that it is ready, with the three URLs, and writes them down', () => {
  expect(output).toMatch(
    /selvedge is ready\n +runtime +http:\/\/127\.0\.0\.1:8083\n +identity +http:\/\/127\.0\.0\.1:8084\n +discovery +http:\/\/127\.0\.0\.1:8085/,
  )
  expect(JSON.parse(readFileSync(join(folder.path, 'stack.json'), 'utf8'))).toEqual({
    runtime: 'http://127.0.0.1:8083',
    identity: 'http://127.0.0.1:8084',
    discovery: 'http://127.0.0.1:8085',
  })
})

it("the README's lines do what it says", needs('curl'), async () => {
  expect(lines).toContain('getEdgeIdToken')
  const script = `set -euo pipefail\n${lines}`
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: root, env: env() })
  const [account] = /[0-9a-f-]{36}/.exec(stdout)!
  expect(stdout).toContain(`"result":{"accountId":"${account}"}`)
  expect(stdout).toMatch(new RegExp(`"accountId":"${account}","name":"[^"]*","version":"[^"]*"}\n`))
  expect(stdout).toContain('{"id":null,"jsonrpc":"2.0","result":{"status":"ok"}}')
  expect(stdout).toContain('{"name":"visits","count":1}')
  expect(stdout).toContain('"reason":"token_missing"')
  expect(stdout).toMatch(/"longitude":-123\.115,"latitude":49\.25,"speed":10\.5,"bearing":350/)
})

it('SIGTERM ends all of it', async () => {
  const ended = new Promise((resolve) => stack.once('exit', resolve))
  stack.kill('SIGTERM')
  await ended
  for (let attempt = 0; attempt < 100 && (await isOpen(8084)); attempt++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  expect(await Promise.all([8083, 8084, 8085].map(isOpen))).toEqual([false, false, false])
  expect(existsSync(join(folder.path, 'stack.json'))).toBe(false)
})
