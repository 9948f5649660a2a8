/** Daemons make folders and files through the kit's store, which syncs content and names. */
import { expect, it } from 'vitest'
import { readSources, type SyntaxNode } from './sources.ts'

/** Calls that make or move names on the disk. */
const calls = /^(?:mkdir|mkdtemp|writeFile|appendFile|rename|copyFile|symlink|link)(?:Sync)?$/

/** Where they stand, and why what they make is on the disk in time or need not be. */
const allowed: Readonly<Record<string, string>> = {
  'packages/service-kit/src/store/make-folder.ts': 'makes folders and syncs their parents',
  'packages/service-kit/src/store/move-content.ts': 'moves names and syncs both folders',
  'packages/service-kit/src/store/write-once.ts': 'writes files and syncs content and name',
  'packages/service-kit/src/backup/swap.ts': 'moves synced files, and syncs their folders before it ends',
  'packages/service-kit/src/store/document.ts': 'moves damaged files aside; what they held is lost already',
  'packages/service-kit/src/lifecycle/crash-record.ts':
    'the process is about to end; a lost count does no harm',
  'apps/runtime/src/device/node/node-key.ts': 'moves a damaged key aside',
  'apps/runtime/src/services/images/blobs.ts': 'syncs the blob, moves it, and syncs the folder',
  'apps/runtime/src/services/images/uploads.ts': 'their note, which is written next, syncs the folder',
  'apps/runtime/src/services/engines/oci/config-files.ts': 'files of one run',
  'apps/runtime/src/services/engines/oci/label-secret.ts': 'a lost secret means that containers start anew',
  'apps/runtime/src/services/engines/oci/own-files.ts': 'files of one run',
  'apps/runtime/src/services/engines/oci/secret-files.ts': 'files of one run, in memory',
  'apps/runtime/src/services/secrets/secret-key.ts': 'moves a damaged key aside',
  'apps/runtime/src/services/engines/function/instance-folder.ts': 'folders of one run',
  'apps/runtime/src/services/engines/function/cgroup.ts': 'cgroups are no files on a disk',
}

it('make files and folders through the store of the kit, except where a power cut may take them', () => {
  const found = readSources(
    'packages/service-kit/src',
    'apps/runtime/src',
    'apps/identity/src',
    'apps/discovery/src',
  )
    .filter(({ path }) => !/\/testing\/|\/engines\/function\/platform\//.test(path))
    .filter(({ program }) => callsIn(program).some((name) => calls.test(name)))
    .map(({ path }) => path)
  expect(found.toSorted()).toEqual(Object.keys(allowed).toSorted())
})

/** Names of the functions that are called, methods included. */
function callsIn(node: SyntaxNode): string[] {
  const own = node.type === 'CallExpression' ? nameOf(node.callee as SyntaxNode) : undefined
  const below = Object.values(node).flatMap((value) =>
    (Array.isArray(value) ? value : [value]).flatMap((each) =>
      typeof each === 'object' && each !== null && 'type' in each ? callsIn(each as SyntaxNode) : [],
    ),
  )
  return own === undefined ? below : [own, ...below]
}

const nameOf = ({ type, name, property }: SyntaxNode): string | undefined =>
  type === 'Identifier'
    ? (name as string)
    : ((property as SyntaxNode | undefined)?.name as string | undefined)
