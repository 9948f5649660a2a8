/** The service manager: it starts the release that was chosen, and the release confirms itself or not. */
import { setTimeout as sleep } from 'node:timers/promises'
import { runTool } from '../context/systemd.ts'
import type { Installation } from './installation.ts'

const unit = 'selvedge.service'

/** False without systemd, too. */
export function isServiceActive(): boolean {
  try {
    runTool('systemctl', ['is-active', '--quiet', unit])
    return true
  } catch {
    return false
  }
}

/** `waiting`: neither within the time. */
export type Outcome = 'confirmed' | 'rolled back' | 'waiting'

const limits = { waitMs: 180_000, pollMs: 500 }

export const restartService = (): void => void runTool('systemctl', ['restart', '--no-block', unit])

/** @param read reads the installation as it is now */
export async function awaitTrial(version: string, read: () => Installation): Promise<Outcome> {
  for (let waited = 0; waited < limits.waitMs; waited += limits.pollMs) {
    const { current, phase } = read()
    if (current !== version) return 'rolled back'
    if (phase === 'confirmed') return 'confirmed'
    await sleep(limits.pollMs)
  }
  return 'waiting'
}
