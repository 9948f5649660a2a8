import { relative } from 'node:path'
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node'
import { descendantsOf } from '../instances.ts'
import CountReporter from './count-reporter.ts'

/** More than the time limit of any test. */
const defaultLimitMs = 25 * 60_000

interface Watched {
  readonly timer: NodeJS.Timeout
  last: string
}

/**
 * Ends the run when a test file has reported nothing for 25 minutes, and names the file and the last test that it reported. The time limits of
 * Vitest cannot end what blocks the thread of a test, such as a program that is called synchronously and never ends.
 */
export default class StallReporter implements Reporter {
  readonly #files = new Map<string, Watched>()
  readonly #limitMs: number
  #vitest?: Vitest

  constructor({ limitMs = defaultLimitMs } = {}) {
    this.#limitMs = limitMs
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestModuleQueued({ moduleId }: TestModule): void {
    const timer = setTimeout(() => this.#end(moduleId), this.#limitMs).unref()
    this.#files.set(moduleId, { timer, last: 'its start' })
  }

  onTestCaseReady(test: TestCase): void {
    this.#reported(test)
  }

  onTestCaseResult(test: TestCase): void {
    this.#reported(test)
  }

  onTestModuleEnd({ moduleId }: TestModule): void {
    clearTimeout(this.#files.get(moduleId)?.timer)
    this.#files.delete(moduleId)
  }

  #reported({ module, fullName }: TestCase): void {
    const file = this.#files.get(module.moduleId)
    if (file === undefined) return
    file.last = JSON.stringify(fullName)
    file.timer.refresh()
  }

  #end(moduleId: string): void {
    const path = relative(process.cwd(), moduleId)
    const last = this.#files.get(moduleId)?.last
    const message = `${path} reported nothing for ${this.#limitMs / 1000} s, after ${last}: the run ends here`
    process.stdout.write(`${message}\n`)
    new CountReporter().onTestRunEnd(this.#vitest?.state.getTestModules() ?? [], [message])
    try {
      // A worker that is blocked handles no other signal, and stays when its parent ends.
      for (const pid of descendantsOf(process.pid)) process.kill(pid, 'SIGKILL')
    } finally {
      process.exit(1)
    }
  }
}
