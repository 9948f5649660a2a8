/** Bundles functions in a process of its own, which stays for the next build until it is closed. */
import { type ChildProcess, fork } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../failure.ts'
import type { Bundled } from './bundle.ts'
import { type BuildLimits, buildLimits } from './limits.ts'
import { type BuildAnswer, type BuildRequest, exitOutOfMemory } from './message.ts'
import type { Problem } from './problem.ts'

export interface Builder {
  /** @param folder of the function @param entry path from the folder @throws UsageError, with the lines of the author */
  bundle(folder: string, entry: string): Promise<Bundled>
  /** @param component bytes of a WebAssembly component @param entry name of its file @throws UsageError */
  transpile(component: Buffer, entry: string): Promise<Bundled>
  /** Stops the process, and with it the build that is under way. No later build is possible. */
  close(): void
}

/** From the sources, and from the bundle of the command line. */
const program = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './main.ts' : './bundler.cjs', import.meta.url),
)

export function createBuilder(limits: BuildLimits = buildLimits): Builder {
  let child: ChildProcess | undefined
  let isClosed = false
  const start = () =>
    fork(program, [], {
      // No token of the user's environment, and no options for Node.js.
      env: { PATH: process.env.PATH, TMPDIR: tmpdir() },
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
    })
  async function build(request: BuildRequest): Promise<Bundled> {
    if (isClosed) throw new Error('the build was stopped')
    if (child?.connected !== true) child = start()
    return readAnswer(await ask(child, request))
  }
  return {
    bundle: (folder, entry) => build({ folder, entry, limits }),
    async transpile(component, entry) {
      if (component.length > limits.sourceBytes)
        throw new UsageError(
          `${entry} has ${component.length} bytes, and a component may have ${limits.sourceBytes}`,
          'Build it without debugging information, for example with wasm-tools strip.',
        )
      return build({ component, entry, limits })
    },
    close() {
      isClosed = true
      child?.kill('SIGKILL')
    },
  }
}

function ask(child: ChildProcess, request: BuildRequest): Promise<BuildAnswer> {
  const { timeoutMs, memoryBytes } = request.limits
  return new Promise((resolve, reject) => {
    const finish = () => {
      clearTimeout(timer)
      child.off('message', receive).off('exit', onExit).off('error', fail)
    }
    const fail = (cause: Error) => {
      finish()
      child.kill('SIGKILL')
      reject(cause)
    }
    const receive = (given: unknown) => {
      finish()
      resolve(given as BuildAnswer)
    }
    const onExit = (code: number | null, signal: string | null) => {
      const why =
        code === exitOutOfMemory
          ? `needs more than ${Math.round(memoryBytes / 1024 / 1024)} MiB of memory`
          : `exited with ${signal ?? `exit code ${code}`}`
      fail(
        new UsageError(`the build ${why}`, 'Import fewer or smaller packages, or build a smaller component.'),
      )
    }
    const timer = setTimeout(() => {
      const hint = 'Look for a very large package.json, tsconfig.json or module.'
      fail(new UsageError(`the build was stopped after ${timeoutMs / 1000} s`, hint))
    }, timeoutMs)
    child.on('message', receive).on('exit', onExit).on('error', fail)
    child.send(request, (cause) => cause && fail(cause))
  })
}

function readAnswer(given: BuildAnswer): Bundled {
  if ('bundled' in given) return given.bundled
  if ('problem' in given)
    throw new UsageError(describeProblem(given.problem), 'Correct the file; nothing was deployed.')
  throw new UsageError(
    `TypeScript and imports need the bundler "rolldown", which this installation does not have (${given.missing})`,
    'Build it with the command line of a clone, or its npm package with its optional dependencies. Or put the function into one index.js without imports.',
  )
}

/** `file:line:column: text`, and the source lines below it. */
function describeProblem({ file, line, column, text, frame }: Problem): string {
  const place = [file, line, column].filter((each) => each !== undefined).join(':')
  return [place === '' ? text : `${place}: ${text}`, ...(frame ? [frame] : [])].join('\n')
}
