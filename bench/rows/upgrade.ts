import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownArchitecture, products } from '../../packaging/products.ts'
import { readRelease } from '../../packaging/release.ts'
import { makeTree } from '../../packaging/tree/tree.ts'
import { measureUpgradeGap } from '../../tests/system/reliability/upgrade-gap.ts'
import { median, type Row, rounds } from '../measure.ts'

/** What callers of a device notice of an upgrade, and what an installed product needs on the disk. */
export async function upgradeRows(): Promise<Row[]> {
  const noticed = await measureUpgradeGap(rounds * 2)
  const gaps = Object.entries(noticed).map(([name, { gapsMs }]): Row => {
    const [ours, longest] = [median(gapsMs), Math.max(...gapsMs)]
    const against = 'the longest of them'
    const description = { name: `upgrade: gap of ${name}, median`, unit: 'ms', against }
    return { ...description, ours, peer: longest, ratio: ours / longest, reach: 'reported', reached: null }
  })
  const wrong = Object.values(noticed).reduce((sum, each) => sum + each.wrong.length, 0)
  const answers: Row = {
    name: 'upgrade: wrong answers',
    ours: wrong,
    peer: 0,
    ratio: wrong,
    unit: 'answers',
    against: `${Object.values(noticed).reduce((sum, { right }) => sum + right, 0)} right ones`,
    reach: '0',
    reached: wrong === 0,
  }
  return [...gaps, answers, ...diskRows()]
}

function diskRows(): Row[] {
  const architecture = ownArchitecture()
  if (!architecture) return []
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'))
  try {
    return products.map((product): Row => {
      const tree = join(folder, product.name)
      makeTree(product, architecture, readRelease(), tree)
      const [ours, peer] = [
        bytesIn(tree),
        product.engines.reduce((sum, each) => sum + bytesIn(tree, each), 0),
      ]
      const description = {
        name: `bytes on disk: ${product.name}`,
        unit: 'bytes',
        against: product.engines.join(' and '),
      }
      return { ...description, ours, peer, ratio: ours / peer, reach: 'reported', reached: null }
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Of all files, or of one with that name at the top. */
const bytesIn = (folder: string, only?: string): number =>
  readdirSync(folder, { recursive: only === undefined, withFileTypes: true })
    .filter((each) => each.isFile() && (only === undefined || each.name === only))
    .reduce((sum, each) => sum + statSync(join(each.parentPath, each.name)).size, 0)
