/** The page of the issuers that a project trusts, as an owner meets it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { signToken } from '../../harness/oidc-issuer.ts'
import {
  becomeOwner,
  findObstacles,
  findOverflow,
  openBrowser,
  type PersonAtBrowser,
  takePictures,
} from '../../harness/person.ts'
import { type Stack, startStack } from '../../harness/processes.ts'

describe('trusted issuers in the console', needs('chromium-headless-shell'), () => {
  let stack: Stack
  let person: PersonAtBrowser

  beforeAll(async () => {
    stack = await startStack()
    person = await openBrowser()
  })
  afterAll(async () => {
    await person?.close()
    await stack?.stop()
  })

  it('are explained before the first one, then listed, tested, and removed', async () => {
    const { page } = person
    await becomeOwner(page, stack.identity.ready.setup!)
    await page.getByRole('link', { name: 'Projects', exact: true }).click()
    await page.getByRole('button', { name: 'New project' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Releases')
    await page.getByRole('button', { name: 'Create project' }).click()
    await page.getByRole('link', { name: 'Trusted issuers' }).click()
    await page.getByRole('heading', { name: 'No trusted issuers yet' }).waitFor()
    await page.getByText('id-token: write').waitFor()
    expect(await findObstacles(page)).toEqual([])
    await takePictures(page, 'issuers-empty')

    await page.getByRole('button', { name: 'Trust an issuer' }).click()
    await page.getByLabel('Conditions').fill('repository')
    await page.getByRole('button', { name: 'Add issuer' }).click()
    await page.getByText('the value of a condition has 1 to 512 characters').waitFor()
    await page.getByLabel('Conditions').fill('repository=octo-org/octo-repo\nsub=repo:octo-org*')
    expect(await findObstacles(page)).toEqual([])
    await takePictures(page, 'issuers-form')
    await page.getByRole('button', { name: 'Add issuer' }).click()

    await page.getByText('https://token.actions.githubusercontent.com', { exact: true }).waitFor()
    await page.getByText('repository=octo-org/octo-repo', { exact: true }).waitFor()
    await page.getByText('also accepts "repo:octo-org-evil/…"').first().waitFor()
    await page.getByText('Not used yet.').waitFor()
    expect(await findObstacles(page)).toEqual([])
    for (const width of [320, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await page.evaluate(findOverflow)).toEqual([])
    }
    await takePictures(page, 'issuers')

    await page.getByRole('button', { name: /^Test a token/ }).click()
    await page.getByLabel(/^ID token of/).fill(signToken({ iss: 'https://evil.example' }))
    await page.getByRole('button', { name: 'Test token' }).click()
    await page.getByText('claim "iss" is "https://evil.example"').waitFor()
    await page.getByRole('button', { name: 'Close', exact: true }).click()

    await page.getByRole('button', { name: /^Remove https/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('heading', { name: 'No trusted issuers yet' }).waitFor()
  })
})
