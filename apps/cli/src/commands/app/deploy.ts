/** Deploys the app that a Compose file describes: images and secrets first, then all containers as one. */
import { randomUUID } from 'node:crypto'
import {
  type AppPlan,
  type AppRecord,
  type ImageRecord,
  isInFolder,
  maxAppBodyBytes,
} from '@selvedge/protocol'
import { readSecretValues } from '../../compose/app-secrets.ts'
import { type Checked, readCompose } from '../../compose/check-compose.ts'
import { imageNameOf, imageOnDevice } from '../../compose/device-images.ts'
import { linesOf } from '../../compose/report.ts'
import type { Context } from '../../context/context.ts'
import { exitCodes, UsageError } from '../../failure.ts'
import { followDeployment } from './follow.ts'
import { memberState } from './member-state.ts'
import { throughCuts } from './through-cuts.ts'

export interface ComposeChoice {
  /** Compose file. */
  readonly path: string
  readonly profiles: readonly string[]
  readonly envFiles: readonly string[]
  /** Of the app, in place of that in the file. */
  readonly name: string | undefined
  /** Whether images are downloaded at once, although the link is metered or its budget is used. */
  readonly now?: boolean
}

/**
 * @param token gives the access token; called once the file is valid
 * @throws UsageError for a file with problems; RpcFailure | ConnectionFailure
 */
export async function deployCompose(
  context: Context,
  choice: ComposeChoice,
  token: () => Promise<string>,
): Promise<AppRecord> {
  const { checked, opened } = await readCompose({
    cwd: process.cwd(),
    paths: [choice.path],
    profiles: choice.profiles,
    envFiles: choice.envFiles,
    env: process.env,
    name: choice.name,
  })
  const plan = expectValid(checked, choice.path)
  const secrets = readSecretValues(plan, opened!).map(({ name, value }) => ({
    name,
    value: value.toString('base64'),
  }))
  expectRoomFor(plan, secrets)
  for (const line of [...linesOf(checked.warnings), ...copiesIn(plan)]) context.terminal.note(line)
  const edgeAccessToken = await token()
  const { names, pulls } = await findImages(context, edgeAccessToken, plan)
  const services = plan.services.map((each) => ({ ...each, image: names.get(each.image)! }))
  const deployment = randomUUID()
  const call = () =>
    context.runtime.deployApp({
      ...{ edgeAccessToken, deployment },
      plan: { ...plan, services },
      ...(secrets.length > 0 && { secrets }),
      ...(pulls.length > 0 && {
        pulls: pulls.map((each) => ({ ...each, ...(choice.now && { now: true }) })),
      }),
    })
  return followDeployment(context, edgeAccessToken, { app: plan.name, deployment }, throughCuts(call))
}

/** A line for each folder that services get copies of: what they write there is refused, and would not come back here. */
export const copiesIn = ({ services }: Pick<AppPlan, 'services'>): string[] =>
  services.flatMap(({ name, configs, configFolders = [] }) =>
    configFolders.map((folder) => {
      const count = configs.filter(({ target }) => isInFolder(target, folder)).length
      const files = count === 1 ? '1 file' : `${count} files`
      return `${name}: ${folder} is a read-only copy of ${files} of this folder, as it is now`
    }),
  )

/** Bytes of a request beside the plan and the values: the token, names, and names of images. */
const besideBytes = 16 * 1024

function expectRoomFor(plan: AppPlan, secrets: readonly { readonly value: string }[]): void {
  const bytes = Buffer.byteLength(JSON.stringify([plan, secrets]))
  const most = maxAppBodyBytes - besideBytes
  if (secrets.length > 0 && bytes > most)
    throw new UsageError(
      `The app has ${bytes} bytes with the values of its secrets; the limit is ${most}.`,
      'Set large values with "selvedge secret set", and write "external: true" for them.',
      exitCodes.failed,
    )
}

function expectValid({ plan, problems, moreProblems }: Checked, path: string): AppPlan {
  if (plan) return plan
  const [first] = problems
  const count = problems.length + moreProblems
  const [place = path] = first ? linesOf([first]) : []
  throw new UsageError(
    count > 1 ? `${place} There are ${count - 1} more problems.` : place,
    `See every problem: selvedge compose check ${path}`,
    exitCodes.failed,
  )
}

/** An image that the runtime pulls, and the name that it gets. */
interface Pull {
  readonly source: string
  readonly name: string
}

/** @returns the name of the image on the device, for each reference of the plan, and what the runtime has to pull */
async function findImages(
  context: Context,
  edgeAccessToken: string,
  { services }: AppPlan,
): Promise<{ readonly names: ReadonlyMap<string, string>; readonly pulls: readonly Pull[] }> {
  const names = new Map<string, string>()
  const pulls: Pull[] = []
  const present: readonly ImageRecord[] = await context.runtime.getImages({ edgeAccessToken })
  for (const { image, pull } of services) {
    if (names.has(image)) continue
    const known = pull === 'always' ? undefined : imageOnDevice(present, image)
    if (!known && pull === 'never')
      throw new UsageError(
        `the device has no image ${image}, and pull_policy is never`,
        'Deploy it first: selvedge image deploy <archive>',
        exitCodes.failed,
      )
    const name = known?.name ?? imageNameOf(image)
    if (!known) pulls.push({ source: image, name })
    names.set(image, name)
  }
  return { names, pulls }
}

/** Whether a path on the command line is a Compose file, by its name. */
export const isComposeName = (path: string): boolean => /\.ya?ml$/i.test(path)

/** The record of an app, for people. */
export const describeApp = ({ id, revision, members }: AppRecord): string =>
  [
    `deployed ${id}, revision ${revision}:`,
    ...members.map(({ service, container }) => {
      const path = container?.basePath ? `, at ${container.basePath}` : ''
      return `  ${service}: ${memberState(container)}${path}`
    }),
    `its state  selvedge app list`,
    `its logs   selvedge logs ${members[0]?.container?.name ?? '<container>'}`,
  ].join('\n')
