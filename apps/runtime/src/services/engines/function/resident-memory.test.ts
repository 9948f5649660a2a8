import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../../../../tests/harness/installed.ts'
import { residentMemory } from './resident-memory.ts'

const hog = `globalThis.held = Buffer.alloc(200e6, 1); console.log('held'); setInterval(() => {}, 1000)`

it('counts what a process has in memory, less the size of its program', needs('ps'), async () => {
  const child = spawn(process.execPath, ['-e', hog], { stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  const all = (await residentMemory(child.pid!, '/nowhere')) ?? 0
  expect(all).toBeGreaterThan(200e6)
  const withoutProgram = (await residentMemory(child.pid!, process.execPath)) ?? 0
  expect(all - withoutProgram).toBeGreaterThan(50e6)
  child.kill('SIGKILL')
  await exited
  expect(await residentMemory(child.pid!, process.execPath)).toBeNull()
})

it('is never negative', needs('ps'), async () => {
  const child = spawn('sleep', ['1000'])
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  expect(await residentMemory(child.pid!, process.execPath)).toBe(0)
})
