/**
 * A thread that runs test files of one mutant after the other. Modules of the project are loaded again for each run; those of Node, of
 * Vitest and of packages are not, since they contain no mutant and cost most of a start.
 */
import { parentPort } from 'node:worker_threads'
import { init, runBaseTests, setupEnvironment } from 'vitest/worker'
import type { OpenAnswer } from './pool.ts'

const port = parentPort!

type State = Parameters<typeof runBaseTests>[1]

/** What the instrumented code and the runner of Stryker share. */
interface Stryker {
  activeMutant?: string | undefined
  hitCount?: number | undefined
}

/** Forgets what the files of a run loaded, and its mutant: the next files load without one. */
function forget({ evaluatedModules }: State): void {
  for (const module of evaluatedModules.idToModuleMap.values()) {
    if (module.id.includes('/node_modules/')) continue
    evaluatedModules.invalidateModule(module)
    module.importers.clear()
  }
  const shared = (globalThis as { __stryker__?: Stryker }).__stryker__
  if (shared) {
    shared.activeMutant = undefined
    shared.hitCount = undefined
  }
}

let openAtStart: number | undefined

init({
  post: (message) => port.postMessage(message),
  on: (callback) => port.on('message', callback),
  off: (callback) => port.off('message', callback),
  async runTests(state, traces) {
    openAtStart ??= process.getActiveResourcesInfo().length
    try {
      await runBaseTests('run', state, traces)
    } finally {
      forget(state)
    }
  },
  collectTests: (state, traces) => runBaseTests('collect', state, traces),
  setup: setupEnvironment,
})

// What is left of a run, such as a timer, a socket or a file that is read, could fail the next one.
port.on('message', (message: { readonly asksOpen?: true }) => {
  if (!message.asksOpen) return
  setImmediate(() =>
    setImmediate(() => {
      const left = process.getActiveResourcesInfo().length - (openAtStart ?? 0)
      port.postMessage({ open: Math.max(0, left - 1) } satisfies OpenAnswer)
    }),
  )
})
