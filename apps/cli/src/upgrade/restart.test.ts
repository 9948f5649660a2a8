/** The service manager is asked for the right unit, and a trial is watched until it ends, without systemd. */
import childProcess from 'node:child_process'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Installation } from './installation.ts'
import { awaitTrial, isServiceActive, restartService } from './restart.ts'

/** Another systemd, until the test ends. @returns the commands so far */
function pretend({ status = 0, isInstalled = true }): string[] {
  const commands: string[] = []
  vi.spyOn(fs, 'existsSync').mockReturnValue(isInstalled)
  vi.spyOn(childProcess, 'spawnSync').mockImplementation(((program: string, args: readonly string[]) => {
    commands.push([program, ...args].join(' '))
    return { status, stdout: '', stderr: '' }
  }) as never)
  mocked()
  return commands
}

/** Has the code see what was mocked, until the test ends. */
function mocked(): void {
  syncBuiltinESMExports()
  onTestFinished(() => {
    vi.restoreAllMocks()
    syncBuiltinESMExports()
  })
}

it.each([
  ['active if systemd reports that', { status: 0 }, true],
  ['not active if systemd reports a failure', { status: 3 }, false],
  ['not active without systemd', { isInstalled: false }, false],
])('the service is %s', (_, systemd, expected) => {
  const commands = pretend(systemd)
  expect(isServiceActive()).toBe(expected)
  const asked = ['/usr/bin/systemctl is-active --quiet selvedge.service']
  expect(commands).toEqual('status' in systemd ? asked : [])
})

it('a restart does not wait for the start, which may be on trial; a failure is an error', () => {
  const commands = pretend({})
  restartService()
  expect(commands).toEqual(['/usr/bin/systemctl restart --no-block selvedge.service'])
  pretend({ status: 1 })
  expect(restartService).toThrow('systemctl restart failed')
})

type State = Pick<Installation, 'current' | 'phase'>
const ours = (phase: Installation['phase']): State => ({ current: '1.1.0', phase })
const rolledBack: State = { current: '1.0.0', phase: 'confirmed' }

/** Time passes at once. @returns the outcome for these states, one for each poll, how often it polled, and the time */
async function watch(states: readonly State[]): Promise<{ outcome: string; polls: number; ms: number }> {
  let polls = 0
  let ms = 0
  vi.spyOn(timers, 'setTimeout').mockImplementation((async (milliseconds: number) => {
    ms += milliseconds
  }) as never)
  mocked()
  const read = () => states[Math.min(polls++, states.length - 1)] as Installation
  return { outcome: await awaitTrial('1.1.0', read), polls, ms }
}

it.each<[outcome: string, when: string, states: readonly State[], polls: number]>([
  ['confirmed', 'at once', [ours('confirmed')], 1],
  ['confirmed', 'after its start', [ours('untried'), ours('trial'), ours('trial'), ours('confirmed')], 4],
  ['rolled back', 'as soon as another one is current', [ours('untried'), ours('trial'), rolledBack], 3],
  ['rolled back', 'also if the other one is on trial', [{ current: '1.0.0', phase: 'trial' }], 1],
])('a trial is %s %s', async (outcome, _, states, polls) => {
  expect(await watch(states)).toEqual({ outcome, polls, ms: (polls - 1) * 500 })
})

it('a trial without an end is watched for three minutes', async () => {
  expect(await watch([ours('trial')])).toEqual({ outcome: 'waiting', polls: 360, ms: 180_000 })
})
