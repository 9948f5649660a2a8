/**
 * Public Compose files of tests/compose/apps, deployed by the command line: as far as the device has what they want, with stand-ins in
 * place of the images of their registries, and with free ports.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { freePort } from '@selvedge/service-kit/testing'
import { cliEnvOf, type Ran, runCli } from '../../harness/cli.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'
import { type App, apps, changeFile } from './compose-apps.ts'
import { expectText } from './expect-text.ts'
import { until } from './field.ts'

/** A line of the table. */
export interface ComposeFile {
  readonly name: string
  /** What had to be changed in the file, in words; empty where nothing had to. */
  readonly changed: string
  /** What was seen, or why the file is not accepted. */
  readonly seen: string
  /** Set where it should run and does not. */
  readonly problem?: string
}

const folder = join(root, 'tests/compose/apps')

/**
 * @param wanted names of the files; empty for all of them
 * @param record called with each file that was measured
 */
export async function composeFiles(
  wanted: readonly string[],
  record: (file: ComposeFile) => void,
  say: (text: string) => void,
): Promise<void> {
  const stack = await startPodmanServices()
  await grantDevices(stack)
  try {
    for (const name of wanted.length > 0 ? wanted : readdirSync(folder)) {
      const app = apps[name]
      record(app ? await deployAndBreak(stack, name, app, say) : await refusalOf(stack, name))
    }
  } finally {
    await stack.stop()
  }
}

/** The configuration of the device allows the services of the files the devices that they name. */
async function grantDevices({ services, podman }: PodmanServices): Promise<void> {
  const rules = Object.entries(apps).flatMap(([name, { device }]) =>
    device ? [`${device.node} service=${services.developer.clientId}-${name}-${device.service}`] : [],
  )
  await services.restart('SIGTERM', {}, [
    `--oci.socket=${podman.socket}`,
    `--services.devices=${rules.join(',')}`,
  ])
}

/** A copy of the folder of an app, in which the command line works. */
async function openCopy({ services }: PodmanServices, name: string) {
  const { path, remove } = await temporaryFolder()
  const copy = join(path, name)
  await cp(join(folder, name), copy, { recursive: true })
  const env = {
    ...cliEnvOf(services.stack),
    SELVEDGE_ACCESS_TOKEN: services.token,
    INFLUX_PASSWORD: 'a-password',
  }
  const original = readFileSync(join(copy, 'compose.yaml'), 'utf8')
  return {
    original,
    run: (...args: string[]): Promise<Ran> => runCli(args, env, copy),
    write: (text: string) => writeFileSync(join(copy, 'compose.yaml'), text),
    /** Changes the files that the Compose file extends. */
    changeOthers(change: (text: string) => string) {
      for (const path of readdirSync(copy, { recursive: true, encoding: 'utf8' }))
        if (path.endsWith('.yaml') && path !== 'compose.yaml')
          writeFileSync(join(copy, path), change(readFileSync(join(copy, path), 'utf8')))
    },
    remove,
  }
}

/** The first sentence, as far as a cell of a table may be long: what to do next belongs to the command line. */
const shorten = (text: string): string => {
  const [sentence = ''] = text.split(/\.(?= |$)/)
  return sentence.length > 110 ? `${sentence.slice(0, 109)}…` : sentence
}

/** Why a file is not accepted: the first problem that the command line shows. */
async function refusalOf(stack: PodmanServices, name: string): Promise<ComposeFile> {
  const copy = await openCopy(stack, name)
  try {
    const { code, errors } = await copy.run('deploy', 'compose.yaml')
    const [first = ''] = errors.split('\n')
    const seen = `refused: ${shorten(first.replace(/^error: (?:[\w.-]+:\d+:\d+: )?/, ''))}`
    return code === 0
      ? { name, changed: '', seen, problem: 'it is accepted, and has no row' }
      : { name, changed: '', seen }
  } finally {
    await copy.remove()
  }
}

async function deployAndBreak(
  stack: PodmanServices,
  name: string,
  app: App,
  say: (text: string) => void,
): Promise<ComposeFile> {
  const { services, podman } = stack
  const copy = await openCopy(stack, name)
  const edgeAccessToken = services.token
  const unplug = await app.device?.plugIn()
  const changed = app.changes.flatMap(({ words }) => words || []).join('; ')
  try {
    const names = await deployStandIns(stack, app)
    copy.changeOthers((other) => withStandIns(other, names))
    const text = await withFreePorts(withStandIns(changeFile(copy.original, app), names))
    const deploy = async (content: string) => {
      copy.write(content)
      return copy.run('deploy', 'compose.yaml')
    }
    const use = async () => {
      const [record] = await services.runtime().getApps({ edgeAccessToken })
      for (const { service, path = '/', expected } of app.reached) {
        const basePath = record?.members.find((each) => each.service === service)?.container?.basePath
        const { text: answer } = await services.call(`${basePath}${path}`)
        expectText(answer, expected)
      }
    }
    succeeded(await deploy(text))
    await until(use)
    say(`compose ${name}: deployed and reached`)
    // Without revisions: members with a secret start again when it is set again.
    const running = () =>
      [...podman.run('ps', '--format', '{{.Names}}').matchAll(/^\S+(?=-r\d+$)/gm)]
        .map(String)
        .toSorted()
        .join()
    succeeded(await deploy(withVariable(text, app)))
    await until(use)
    const before = running()
    say(`compose ${name}: redeployed`)
    const broken = await deploy(broke(text, app))
    if (broken.code === 0) throw new Error('a version that fails was deployed')
    await until(() => {
      if (running() !== before) throw new Error(`${running()} runs in place of ${before}`)
    })
    await until(use)
    return {
      name,
      changed,
      seen: 'deployed, reached, redeployed; a version that fails is refused, and the one before continues',
    }
  } catch (cause) {
    return { name, changed, seen: '', problem: (cause as Error).message }
  } finally {
    for (const { name: made } of await services.runtime().getApps({ edgeAccessToken }))
      await services.runtime().removeApp({ edgeAccessToken, name: made })
    for (const { id } of await services.runtime().getImages({ edgeAccessToken }))
      await services.runtime().removeImage({ edgeAccessToken, id })
    unplug?.()
    await copy.remove()
  }
}

function succeeded({ code, errors }: Ran): void {
  if (code !== 0) throw new Error(errors)
}

/** @returns the names of the stand-ins on the device, by the reference of the file */
async function deployStandIns({ services }: PodmanServices, { images }: App): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  for (const [reference, image] of Object.entries(images)) {
    const archive = await image()
    await turn()
    await turn()
    const { name } = await services.deployImage(archive)
    names.set(reference, name)
  }
  return names
}

const withStandIns = (text: string, names: ReadonlyMap<string, string>): string =>
  [...names].reduce(
    (all, [reference, name]) => all.replaceAll(`image: ${reference}\n`, `image: ${name}\n`),
    text,
  )

/** Free ports of the device in place of those of the file. */
async function withFreePorts(text: string): Promise<string> {
  let changed = text
  for (const [all, target] of text.matchAll(/(?<=["\s])(?:[\d.]+:)?\d+:(\d+)(?=["/\s])/g))
    changed = changed.replace(all, `${await freePort()}:${target}`)
  return changed
}

/** Another version of the file: one service has longer to stop. */
const withVariable = (text: string, { redeployed }: App): string =>
  text.replace(`  ${redeployed}:\n`, `  ${redeployed}:\n    stop_grace_period: 61s\n`)

/** A version that does not start: its image has no such user. */
const broke = (text: string, { redeployed }: App): string =>
  text.replace(`  ${redeployed}:\n`, `  ${redeployed}:\n    user: "no-such-user"\n`)
