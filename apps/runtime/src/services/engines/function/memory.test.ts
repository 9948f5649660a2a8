import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { memoryOfTree } from './memory.ts'
import { watchMemory } from './watch-memory.ts'

const hog = `const { spawn } = require('node:child_process')
if (process.argv[1] === 'child') { globalThis.kept = Buffer.alloc(200e6, 1); setInterval(() => {}, 1000) }
else { spawn(process.execPath, ['-e', process.env.HOG, 'child'], { env: process.env }); setInterval(() => {}, 1000) }`

it('the memory of a process counts its children, buffers included; the watch reports when it is too much', async () => {
  const child = spawn(process.execPath, ['-e', hog], { env: { ...process.env, HOG: hog }, detached: true })
  const ended = once(child, 'exit')
  const end = () =>
    child.exitCode === null && child.signalCode === null && process.kill(-child.pid!, 'SIGKILL')
  onTestFinished(() => void end())
  const passed = new Promise<number>((resolve) =>
    watchMemory(child.pid!, 150e6, resolve, {
      memoryOf: async (pid) => memoryOfTree(pid),
      memoryCheckMs: 500,
    }),
  )
  expect(await passed).toBeGreaterThan(150e6)
  await expect.poll(() => memoryOfTree(child.pid!)).toBeGreaterThan(200e6)
  end()
  await ended
  expect(memoryOfTree(child.pid!)).toBeNull()
})
