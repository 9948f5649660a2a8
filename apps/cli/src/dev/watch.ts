/** Watches a folder for saves. One save may be many events: of files that are replaced by name, or written piece by piece. */
import { readdirSync, statSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { type FSWatcher, watch } from 'chokidar'

/** Milliseconds without an event after which a folder counts as saved. */
const quietMs = 40
/** Milliseconds after which it counts as saved although events continue. */
const maxWaitMs = 1000
const pollIntervalMs = 300
/** Files at the top of the folder, and modules of a build, that are polled. */
const maxPolledFiles = 500

export interface Watching {
  /** Names the files that matter: also those outside of the folder, such as of packages of the workspace. */
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
  const files = createFileCheck(own)
  const saves = createDebounce(() => {
    files.haveChanged()
    onSave()
  })
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
  let lastFolder = identityOf(own)
  const check = setInterval(() => {
    const folderNow = identityOf(own)
    const isOther = folderNow !== lastFolder
    lastFolder = folderNow
    if (isOther && folderNow !== undefined) {
      void watcher.close()
      watcher = start(watcher.options.usePolling)
    }
    // The check may come while a file is written: its save ends as that of events does.
    if (isOther || files.haveChanged()) saves.note()
  }, pollIntervalMs)

  return {
    add(paths) {
      files.set(paths)
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

/**
 * Polls the files at the top of a folder, and those of its last build. Events are not enough: chokidar combines those of some
 * milliseconds, and misses a file that is replaced at that moment.
 */
function createFileCheck(own: string) {
  let modules: readonly string[] = []
  const read = () => [...topFiles(own), ...modules].map((path) => `${path} ${versionOf(path)}`).join('\n')
  let last = read()
  let isUnreported = false
  const haveChanged = (): boolean => {
    const now = read()
    const isChanged = isUnreported || now !== last
    isUnreported = false
    last = now
    return isChanged
  }
  return {
    /** Since the last call. */
    haveChanged,
    set(paths: readonly string[]) {
      isUnreported = haveChanged()
      modules = paths.slice(0, maxPolledFiles)
      last = read()
    },
  }
}

function topFiles(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    const files = entries.filter((each) => each.isFile() && !isIgnored(each.name))
    return files.slice(0, maxPolledFiles).map(({ name }) => join(folder, name))
  } catch {
    return []
  }
}

function versionOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : ''
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
