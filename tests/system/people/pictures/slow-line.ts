/** Pages on a line of 30 kB/s with 800 ms to the server: what is seen meanwhile, and when all of it is there. */
import { join } from 'node:path'
import { mapDrawn, type ShownPage } from './pages.ts'
import { type Picture, writeSheet } from './sheet.ts'
import type { FleetStack } from './stack.ts'

const line = { latency: 800, downloadThroughput: 30_000, uploadThroughput: 30_000, offline: false }
/** Milliseconds from the request of a page to its pictures. */
const moments = [2000, 5000, 10_000]

/** Pages that are loaded for the first time: nothing is in the cache of the browser. */
export async function showOnSlowLine(
  { person, page, origin }: FleetStack,
  folder: string,
  pages: readonly ShownPage[],
): Promise<void> {
  await page.setViewportSize({ width: 390, height: 844 })
  await page.emulateMedia({ colorScheme: 'light' })
  const devtools = await person.context.newCDPSession(page)
  await devtools.send('Network.enable')
  await devtools.send('Network.setCacheDisabled', { cacheDisabled: true })
  await devtools.send('Network.emulateNetworkConditions', line)
  for (const { name, path, heading, open } of pages) {
    if (open) continue
    const pictures: Picture[] = []
    const start = performance.now()
    const save = async (title: string) => {
      const file = join(folder, `slow-${name}-${pictures.length}.png`)
      await page.screenshot({ path: file })
      pictures.push({ title: `${name}: ${title}`, path: file })
    }
    await page.goto(origin + path, { waitUntil: 'commit' })
    for (const moment of moments) {
      await page.waitForTimeout(Math.max(0, moment - (performance.now() - start)))
      await save(`after ${moment / 1000} s`)
    }
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor({ timeout: 120_000 })
    await page.locator('main .bones').first().waitFor({ state: 'detached', timeout: 120_000 })
    await mapDrawn(page)
    const seconds = ((performance.now() - start) / 1000).toFixed(1)
    await save(`complete, at the latest after ${seconds} s`)
    await writeSheet(person.context, join(folder, `sheet-slow-${name}.png`), pictures)
    process.stdout.write(`slow line: ${name} is complete after ${seconds} s\n`)
  }
  await devtools.detach()
}
