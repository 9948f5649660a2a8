/** Of the command line: releases and upgrades. */
import { type Equivalent, of } from './equivalent.ts'

const bytesOfJson = 'the text is parsed as JSON, which makes a text of bytes'

export const cli: readonly Equivalent[] = [
  ...of(
    'apps/cli/src/release/statement.ts',
    [
      'for (let at = 0; at < Math.max(first.length, second.length); at++) {',
      'at < Math.max(first.length, second.length) → at <= Math.max(first.length, second.length)',
      'beyond the end, both parts are undefined, and equal',
    ],
    ['return one < two ? -1 : 1', 'one < two → one <= two', 'equal parts are skipped before'],
  ),
  ...of('apps/cli/src/upgrade/lock.ts', [
    '} catch {',
    '{ return undefined } → {}',
    'a function without a result returns undefined',
  ]),
  ...of(
    'apps/cli/src/upgrade/upgrade.ts',
    [
      "const keys = readReleaseKeys(readFileSync(join(installed, 'release-keys.json'), 'utf8'))",
      '\'utf8\' → ""',
      bytesOfJson,
    ],
    [
      "const { keys, threshold } = readReleaseKeys(readFileSync(join(folder, 'release-keys.json'), 'utf8'))",
      '\'utf8\' → ""',
      bytesOfJson,
    ],
    [
      'const [, version] = /^selvedge-(.+)-linux-[^-]+\\.tar\\.gz$/.exec(basename(archive)) ?? []',
      '[] → ["Stryker was here"]',
      'the first entry is not read',
    ],
    [
      'if (compareVersions(version, current) < 0 && !allowDowngrade)',
      'compareVersions(version, current) < 0 → compareVersions(version, current) <= 0',
      'the same version is refused before, and no other one has the same precedence',
    ],
  ),
]
