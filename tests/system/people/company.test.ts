/** Company sign-in as people meet it, with npm `oidc-provider` as the provider, in Chromium. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CompanyOidcProvider, startCompanyOidcProvider } from '../../harness/company-oidc-provider.ts'
import { adminOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import {
  becomeOwner,
  findObstacles,
  findOverflow,
  openBrowser,
  type PersonAtBrowser,
  takePictures,
} from '../../harness/person.ts'
import { type Stack, startStack } from '../../harness/processes.ts'

const domain = 'corp.example'

describe('company sign-in', needs('chromium-headless-shell'), () => {
  let stack: Stack
  let provider: CompanyOidcProvider
  let owner: PersonAtBrowser
  let grace: PersonAtBrowser
  let site: string

  beforeAll(async () => {
    stack = await startStack()
    provider = await startCompanyOidcProvider()
    ;[owner, grace] = [await openBrowser(), await openBrowser()]
    await becomeOwner(owner.page, stack.identity.ready.setup!)
    site = new URL(owner.page.url()).origin
    const { clientId, clientSecret } = provider
    const { redirectUri } = await adminOf(stack.state)['company.add']({
      domain,
      email: null,
      issuer: provider.url,
      clientId,
      clientAuth: 'client_secret',
      clientSecret,
      rules: [
        { claim: 'groups', value: 'engineers', role: 'member' },
        { claim: 'groups', value: 'chief-*', role: 'owner' },
      ],
      allowsPrivate: true,
    })
    provider.register(redirectUri)
    provider.groups.set('grace', ['chief-engineers'])
  })
  afterAll(async () => {
    await owner?.close()
    await grace?.close()
    await provider?.stop()
    await stack?.stop()
  })

  it('is ready by the operator’s test', async () => {
    const tested = await adminOf(stack.state)['company.test']({ domain })
    expect(tested).toMatchObject({ isReady: true, redirectUri: `${site}/sign-in/${domain}/callback` })
  })

  it('leads from the sign-in page to the company and back to the page that was wanted', async () => {
    const { page } = grace
    await page.goto(`${site}/people`)
    await page.getByRole('link', { name: 'Sign in with your company' }).click()
    await page.getByLabel('Work email or domain').fill('grace@corp.example')
    expect(await findObstacles(page)).toEqual([])
    await takePictures(page, 'company-sign-in')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Corp sign-in' }).waitFor()
    await page.getByLabel('Name').fill('grace')
    await page.getByRole('button', { name: 'Sign in at Corp' }).click()
    await page.getByRole('heading', { name: 'People', level: 1 }).waitFor()
    await page.getByText('grace@corp.example').first().waitFor()
    expect(new URL(page.url()).search).toBe('')
  })

  it('confirms a sign-in that is not recent in another tab, and the action continues', async () => {
    const { page, context } = grace
    const { DatabaseSync } = await import('node:sqlite')
    const database = new DatabaseSync(join(stack.state, 'identity', 'identity.db'), { timeout: 30_000 })
    database.exec('UPDATE sessions SET auth_time = auth_time - 900000')
    database.close()
    await page.goto(`${site}/people`)
    await page.getByRole('button', { name: 'Invite' }).click()
    await page.getByRole('button', { name: 'Create invitation link' }).click()
    await page.getByRole('heading', { name: 'Confirm it’s you' }).waitFor()
    expect(await findObstacles(page)).toEqual([])
    const opening = context.waitForEvent('page')
    await page.getByRole('button', { name: `Confirm with ${domain}` }).click()
    const tab = await opening
    // The session at the company is not enough: the provider requires another sign-in (max_age=0).
    await tab.getByLabel('Name').fill('grace')
    await tab.getByRole('button', { name: 'Sign in at Corp' }).click()
    await page.getByText('/join#').waitFor()
  })

  it('can be required: local members are out, and the local owner stays in', async () => {
    const { page } = owner
    await page.goto(`${site}/account`)
    await page.getByRole('button', { name: `Edit ${domain}` }).click()
    expect(await findObstacles(page)).toEqual([])
    await takePictures(page, 'company-rules')
    await page.getByLabel(/^Require company sign-in/).check()
    await page.getByRole('button', { name: 'Save rules' }).click()
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByText('required', { exact: true }).waitFor()
    for (const width of [320, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await page.evaluate(findOverflow)).toEqual([])
    }
    await page.reload()
    await page.getByRole('heading', { name: 'Your account', level: 1 }).waitFor()
  })

  it('is refused without a group that gives access, with what to do', async () => {
    const person = await openBrowser()
    const { page } = person
    await page.goto(`${site}/sign-in/${domain}`)
    await page.getByRole('button', { name: `Continue to ${domain}` }).click()
    await page.getByLabel('Name').fill('guest')
    await page.getByRole('button', { name: 'Sign in at Corp' }).click()
    await page.getByText('gives you no access to this account').waitFor()
    await page.getByRole('link', { name: 'Start again' }).waitFor()
    expect(await findObstacles(page)).toEqual([])
    // The back button and a reload do not send the answer again.
    expect(new URL(page.url()).search).toBe('')
    await person.close()
  })

  it('ends for the people of a company that the operator removes', async () => {
    await adminOf(stack.state)['company.remove']({ domain })
    await grace.page.goto(`${site}/people`)
    await grace.page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
    await owner.page.goto(`${site}/people`)
    await owner.page.getByRole('heading', { name: 'People', level: 1 }).waitFor()
  })
})
