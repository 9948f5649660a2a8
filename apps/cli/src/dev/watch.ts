/** Watches a folder for saves. One save may be many events: of files that are replaced by name, or written piece by piece. */
import { statSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import { type FSWatcher, watch } from 'chokidar'

/** Milliseconds without an event after which a folder counts as saved. */
const quietMs = 40
/** Milliseconds after which it counts as saved although events continue. */
const maxWaitMs = 1000
const pollIntervalMs = 300

export interface Watching {
  /** Watches files outside of the folder too, such as those of packages of the workspace. */
  add(paths: readonly string[]): void
  close(): Promise<void>
}

interface Handlers {
  onSave(): void
  /** A sentence for the user; watching continues. */
  onProblem(text: string): void
}

export function watchFolder(folder: string, { onSave, onProblem }: Handlers): Watching {
  const own = resolve(folder)
  const more = new Set<string>()
  const saves = createDebounce(onSave)
  let isClosed = false
  let watcher = start(false)

  function start(usePolling: boolean): FSWatcher {
    const made = watch([own, ...more], {
      ignored: (path) => isIgnored(relative(own, path)),
      ignoreInitial: true,
      // A link may lead to any folder of this machine.
      followSymlinks: false,
      ignorePermissionErrors: true,
      atomic: false,
      usePolling,
      interval: pollIntervalMs,
    })
    made.on('all', saves.note)
    made.on('error', (cause) => fail(cause as NodeJS.ErrnoException, usePolling))
    return made
  }

  function fail({ code, message }: NodeJS.ErrnoException, isPolling: boolean): void {
    if (isClosed || code === 'ENOENT') return
    const isLimit = code === 'ENOSPC' || code === 'EMFILE' || code === 'ENFILE'
    if (!isLimit || isPolling) {
      onProblem(`watching ${folder}: ${message}`)
      return
    }
    // Each file of the folder reports the same.
    if (watcher.options.usePolling) return
    void watcher.close()
    watcher = start(true)
    onProblem(
      `the limit of watched files of this machine is reached (${code}): checking the files every ${pollIntervalMs / 1000} s instead. To raise the limit: sudo sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512`,
    )
  }

  // The watch of a folder ends with the folder; another one that gets its name needs a new watch.
  let last = identityOf(own)
  const check = setInterval(() => {
    const now = identityOf(own)
    if (now === last) return
    last = now
    if (now !== undefined) {
      void watcher.close()
      watcher = start(watcher.options.usePolling)
    }
    onSave()
  }, pollIntervalMs)

  return {
    add(paths) {
      const fresh = paths.filter((each) => !each.startsWith(own + sep) && !more.has(each))
      for (const each of fresh) more.add(each)
      if (fresh.length > 0) watcher.add(fresh)
    },
    async close() {
      isClosed = true
      clearInterval(check)
      saves.stop()
      await watcher.close()
    },
  }
}

/** The same for a folder as long as it is that folder; undefined without one. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  // File systems give the number of a removed folder to the next one.
  return found?.isDirectory() ? `${found.dev} ${found.ino} ${found.birthtimeMs}` : undefined
}

/** @param path from the folder */
const isIgnored = (path: string): boolean =>
  /(?:^|\/)(?:node_modules|\.git)(?:\/|$)/.test(path.replace(/^(?:\.\.\/)+/, '')) || path.endsWith('.tar')

function createDebounce(run: () => void) {
  let quiet: NodeJS.Timeout | undefined
  let latest: NodeJS.Timeout | undefined
  const stop = () => {
    clearTimeout(quiet)
    clearTimeout(latest)
    latest = undefined
  }
  const finish = () => {
    stop()
    run()
  }
  return {
    note() {
      clearTimeout(quiet)
      quiet = setTimeout(finish, quietMs)
      latest ??= setTimeout(finish, maxWaitMs)
    },
    stop,
  }
}
