/** The public Compose files that `npm run field` deploys, with what it changes in them: each is an app for a device. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { runHere } from '../harness/cli-here.ts'
import { root, temporaryFolder } from '../harness/processes.ts'
import { apps, changeFile } from '../system/field/compose-apps.ts'

it.each(Object.entries(apps))('%s', async (name, app) => {
  const folder = await temporaryFolder()
  onTestFinished(folder.remove)
  const copy = join(folder.path, name)
  cpSync(join(root, 'tests/compose/apps', name), copy, { recursive: true })
  const file = join(copy, 'compose.yaml')
  writeFileSync(file, changeFile(readFileSync(file, 'utf8'), app))
  const ran = await runHere(copy, ['compose', 'check', '--json'], { env: { INFLUX_PASSWORD: 'a-password' } })
  expect(ran).toMatchObject({ code: 0 })
  const { services } = JSON.parse(ran.out).plan
  const names = services.map((each: { name: string }) => each.name)
  expect(names).toEqual(
    expect.arrayContaining([app.redeployed, ...app.reached.map(({ service }) => service)]),
  )
})
