/** Durability: what was acknowledged is on the disk, and damage is found. */
import type { Change } from '../change.ts'

const store = 'packages/service-kit/src/store'

export const durabilityChanges: readonly Change[] = [
  {
    file: `${store}/slot.ts`,
    from: '  await handle.datasync()\n',
    to: '',
    breaks: 'a document is on the disk before its change is acknowledged',
    tests: [`${store}/document-files.test.ts`, `${store}/document.test.ts`],
  },
  {
    file: `${store}/write-once.ts`,
    from: '      await handle.sync()\n',
    to: '',
    breaks: 'a key file is on the disk before it gets its name',
    tests: [`${store}/write-once.test.ts`],
  },
  {
    file: `${store}/write-once.ts`,
    from: '    await syncFoundNames(dirname(path))\n',
    to: '',
    breaks: 'the name of a key file that was found is on the disk before the key is used',
    tests: [`${store}/write-once.test.ts`],
  },
  {
    file: `${store}/write-once.ts`,
    from: '  await syncFolder(folder)\n}',
    to: '}',
    breaks: 'the name of a new key file is on the disk',
    tests: [`${store}/write-once.test.ts`],
  },
  {
    file: 'apps/runtime/src/services/images/blobs.ts',
    from: '      await sync(path)\n',
    to: '',
    breaks: 'a blob is on the disk before it gets its name',
    tests: ['apps/runtime/src/services/images/blobs.test.ts'],
  },
  {
    file: 'apps/cli/src/upgrade/durable.ts',
    from: 'fsyncSync(descriptor)',
    to: 'void descriptor',
    breaks: 'a release is on the disk before it becomes the next one',
    tests: ['apps/cli/src/upgrade/durable.test.ts'],
  },
]
