/** One picture of several, each with its title: to look at a page in all its sizes at once. */
import { readFileSync } from 'node:fs'
import type { BrowserContext } from 'playwright-core'

export interface Picture {
  readonly title: string
  readonly path: string
}

/** Pixels of the width of a picture on a sheet; narrow ones keep theirs. */
const columnPx = 760

export async function writeSheet(
  context: BrowserContext,
  path: string,
  pictures: readonly Picture[],
): Promise<void> {
  const page = await context.newPage()
  await page.setViewportSize({ width: 2 * columnPx + 60, height: 900 })
  const figures = pictures.map(({ title, path: from }) => {
    const data = readFileSync(from).toString('base64')
    return `<figure><figcaption>${title}</figcaption><img src="data:image/png;base64,${data}"></figure>`
  })
  await page.setContent(
    `<style>body{margin:10px;font:14px sans-serif;background:#888;display:flex;flex-wrap:wrap;gap:12px}
      figure{margin:0}img{max-width:${columnPx}px;display:block}</style>${figures.join('')}`,
    { waitUntil: 'load' },
  )
  await page.screenshot({ path, fullPage: true })
  await page.close()
}
