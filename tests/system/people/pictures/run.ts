/**
 * `npm run pictures [folder] [-- page…]`: makes a picture of every page of the console from 390 to 2,560 px, light and dark, with 0, 1, 64 and 1,000
 * devices and on a slow line, and prints what axe-core finds in them and what is too wide. With `fleet` as the first word: how long the map of
 * 100,000 devices needs, and how many bytes.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { needs } from '../../../harness/installed.ts'
import { findObstacles, findOverflow } from '../../../harness/person.ts'
import { root } from '../../../harness/processes.ts'
import { measureFleet } from './measure.ts'
import { mapDrawn, type ShownPage, shownPages } from './pages.ts'
import { type Picture, writeSheet } from './sheet.ts'
import { showOnSlowLine } from './slow-line.ts'
import { type FleetStack, startFleetStack } from './stack.ts'

const fleets = [0, 1, 64, 1000]
/** Widths and heights in px; a page that does not depend on its devices is shown with one of them. */
const sizes = [
  [390, 844],
  [768, 1024],
  [1280, 900],
  [1920, 1080],
  [2560, 1440],
] as const
/** Milliseconds between two pictures of a page, and how many at most: a map is drawn some time after its page. */
const attempts = { pauseMs: 400, most: 20 }

const [first = '', ...names] = process.argv.slice(2)
const folder = first === '' || first === 'fleet' ? join(root, '.cache/pictures') : first
if (needs('chromium-headless-shell').skip) {
  process.stderr.write('error: this needs Chromium\n')
  process.exit(2)
}

const stack = await startFleetStack()
const found: string[] = []
try {
  if (first === 'fleet') await measureFleet(stack, Number(names[0] ?? 100_000))
  else await showAll()
} finally {
  await stack.stop()
}
for (const each of found) process.stdout.write(`${each}\n`)
process.exit(found.length > 0 ? 1 : 0)

async function showAll(): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const pages = shownPages(await makeProject(stack)).filter(
    ({ name }) => names.length === 0 || names.includes(name),
  )
  for (const devices of fleets) {
    await stack.grow(devices)
    for (const each of pages) {
      const isShown = each.hasDevices || devices === (each.needsDevice ? 64 : 0)
      if (isShown) await showPage(each, devices)
    }
  }
  await showOnSlowLine(stack, folder, pages)
}

/** @returns its path */
async function makeProject({ page, origin }: FleetStack): Promise<string> {
  await page.goto(`${origin}/projects`)
  await page.getByRole('button', { name: 'New project' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Weather stations')
  await page.getByRole('button', { name: 'Create project' }).click()
  await page.getByRole('heading', { name: 'Weather stations' }).waitFor()
  return new URL(page.url()).pathname
}

async function showPage(
  { name, path, heading, open, hasDevices }: ShownPage,
  devices: number,
): Promise<void> {
  const { page, origin, person } = stack
  const pictures: Picture[] = []
  const title = hasDevices ? `${name}-${devices}` : name
  for (const [width, height] of sizes) {
    await page.setViewportSize({ width, height })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.goto(origin + path)
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
      await open?.(page)
      await page.locator('main .bones').first().waitFor({ state: 'detached' })
      await mapDrawn(page)
      const where = `${title} at ${width} px, ${colorScheme}`
      const file = join(folder, `${title}-${width}-${colorScheme}.png`)
      await saveAtRest(stack, file)
      pictures.push({ title: where, path: file })
      found.push(...(await findObstacles(page)).map((each) => `${where}: ${each}`))
      found.push(...(await page.evaluate(findOverflow)).map((each) => `${where} is too wide: ${each}`))
    }
  }
  await writeSheet(person.context, join(folder, `sheet-${title}.png`), pictures)
  process.stdout.write(`${title}\n`)
}

/** Saves the picture of a page once two in a row are equal. */
async function saveAtRest({ page }: Pick<FleetStack, 'page'>, path: string): Promise<void> {
  let before: Buffer = Buffer.alloc(0)
  for (let attempt = 0; attempt < attempts.most; attempt++) {
    await page.waitForTimeout(attempts.pauseMs)
    const picture = await page.screenshot({ path })
    if (picture.equals(before)) return
    before = picture
  }
}
