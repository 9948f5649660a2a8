/** Defects that are put into a copy of the programs on purpose: each is a sync or an order that the code must not lose. */
import type { Name } from '../daemons/start.ts'

interface Edit {
  /** Source file, from the root of the project. */
  readonly file: string
  /** What is replaced, wherever it stands in the file. */
  readonly from: string
  readonly to: string
}

export interface Mutant {
  readonly name: string
  readonly app: Name
  readonly edits: readonly Edit[]
  /** A file: the process before was killed when it had given it its name, and had not synced its folder. */
  readonly killedAfter?: string
  /** Which syncs fail: see `fail-syncs.cjs`. */
  readonly failingSyncs?: string
  /** What is wrong in a state that shows it. */
  readonly shows: RegExp
}

const blobs = 'apps/runtime/src/services/images/blobs.ts'
const slot = 'packages/service-kit/src/store/slot.ts'
const document = 'packages/service-kit/src/store/document.ts'
const documentFound: Edit = { file: document, from: 'await syncFoundNames(dirname(path))', to: '' }
const database: Edit = {
  file: 'packages/service-kit/src/store/platform/open-database.ts',
  from: 'PRAGMA synchronous = FULL',
  to: 'PRAGMA synchronous = OFF',
}
/** It waits, so that the answer is there first. */
const answerFirst: Edit = {
  file: 'packages/service-kit/src/store/platform/sqlite-worker.ts',
  from: "control('COMMIT')\n    return results",
  to: "port.postMessage(results)\nAtomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30)\ncontrol('COMMIT')\nreturn []",
}
const syncFolder = 'packages/service-kit/src/store/sync-folder.ts'
const folders: readonly Edit[] = [
  {
    file: syncFolder,
    from: 'await handle.sync().finally(() => handle.close())',
    to: 'await handle.close()',
  },
  { file: syncFolder, from: 'fsyncSync(opened)', to: '' },
]
const writeOnce: Edit = {
  file: 'packages/service-kit/src/store/write-once.ts',
  from: 'await handle.sync()',
  to: '',
}

export const mutants: readonly Mutant[] = [
  {
    name: 'a document is written without datasync',
    app: 'runtime',
    shows: /^lost/,
    edits: [{ file: slot, from: 'await handle.datasync()', to: '' }],
  },
  { name: 'folders are not synced', app: 'runtime', shows: /^(lost|it does not start)/, edits: folders },
  { name: 'folders are not synced', app: 'identity', shows: /^lost/, edits: folders },
  {
    name: 'a blob is stored without a sync',
    app: 'runtime',
    shows: /^half: the deployments/,
    edits: [{ file: blobs, from: 'await sync(path)', to: '' }],
  },
  {
    name: 'writeOnce renames without a sync',
    app: 'runtime',
    shows: /^it does not start/,
    edits: [writeOnce],
  },
  {
    name: 'writeOnce renames without a sync',
    app: 'identity',
    shows: /^it does not start/,
    edits: [writeOnce],
  },
  {
    name: 'a key file that is found, its folder not synced',
    app: 'runtime',
    killedAfter: 'node-key.json',
    shows: /^it does not start/,
    // The document that is opened before syncs the same folder.
    edits: [
      {
        file: 'packages/service-kit/src/store/write-once.ts',
        from: 'await syncFoundNames(dirname(path))',
        to: '',
      },
      documentFound,
    ],
  },
  {
    name: 'a document that is found, its folder not synced',
    app: 'runtime',
    killedAfter: 'state.a',
    shows: /^false alarm/,
    edits: [documentFound],
  },
  {
    name: "an error of a folder's sync is swallowed",
    app: 'runtime',
    failingSyncs: 'node-key.json',
    shows: /^(lost|it does not start)/,
    edits: [{ file: syncFolder, from: "['EINVAL',", to: "['EIO', 'EINVAL'," }],
  },
  {
    name: "an error of the sync of the blobs' folder is swallowed",
    app: 'runtime',
    failingSyncs: 'later',
    shows: /^half: the deployments/,
    edits: [{ file: blobs, from: 'await sync(store)', to: 'await sync(store).catch(() => undefined)' }],
  },
  {
    name: "an error of a blob's sync is swallowed",
    app: 'runtime',
    failingSyncs: 'later',
    shows: /^half: the deployments/,
    edits: [{ file: blobs, from: 'await sync(path)', to: 'await sync(path).catch(() => undefined)' }],
  },
  {
    name: "an error of a document's sync is swallowed",
    app: 'runtime',
    failingSyncs: 'later',
    shows: /^(lost|half)/,
    edits: [
      { file: slot, from: 'await handle.datasync()', to: 'await handle.datasync().catch(() => undefined)' },
    ],
  },
  {
    name: 'SQLite with synchronous = OFF',
    app: 'runtime',
    shows: /^lost: what a function stored/,
    edits: [database],
  },
  { name: 'SQLite with synchronous = OFF', app: 'identity', shows: /^lost/, edits: [database] },
  { name: 'SQLite with synchronous = OFF', app: 'discovery', shows: /^lost/, edits: [database] },
  {
    name: 'SQLite answers before COMMIT',
    app: 'runtime',
    shows: /^lost: what a function stored/,
    edits: [answerFirst],
  },
  { name: 'SQLite answers before COMMIT', app: 'identity', shows: /^lost/, edits: [answerFirst] },
  { name: 'SQLite answers before COMMIT', app: 'discovery', shows: /^lost/, edits: [answerFirst] },
  {
    name: 'a change of a document is acknowledged before it is written',
    app: 'runtime',
    shows: /^lost/,
    edits: [
      { file: document, from: 'batch.written()', to: '' },
      {
        file: document,
        from: 'await write(handle, content)',
        to: 'batch.written()\nawait write(handle, content)',
      },
    ],
  },
  {
    name: 'what a function stores is acknowledged early',
    app: 'runtime',
    shows: /^lost: what a function stored/,
    edits: [
      {
        file: 'apps/runtime/src/services/containers/storage.ts',
        from: 'await store.run(writeChange(dataKey, change))',
        to: 'void store.run(writeChange(dataKey, change))',
      },
    ],
  },
  {
    name: 'the offset of an upload is stored before its bytes are synced',
    app: 'runtime',
    shows: /^(lost: \d+ bytes of round|false alarm: its file)/,
    edits: [
      {
        file: 'apps/runtime/src/services/images/append.ts',
        from: 'await handle.datasync()',
        to: '',
      },
    ],
  },
]
