/** Apps as the API returns them. */
import * as z from 'zod'
import { containerRecord } from '../mcm/records.ts'
import { isoTime } from '../methods/values.ts'

const appMember = z.object({
  service: z
    .string()
    .describe('Name of the service in the app, and its host name on the networks of the app'),
  names: z.array(z.string()).describe('Further names, for members with a common network'),
  networks: z.array(z.string()),
  dependsOn: z.array(z.string()),
  container: containerRecord
    .nullable()
    .describe('null if it is not there: the state of the device was damaged. Deploy the app again'),
})

export const appRecord = z.object({
  id: z.string().describe('`<clientId>-<name>`'),
  clientId: z.string().describe('Project that deployed it'),
  name: z.string(),
  revision: z.number().int().describe('Counts the deployments that succeeded'),
  created: z.number().int().describe('When it was deployed for the first time, Unix milliseconds'),
  deployedAt: isoTime.describe('When it was deployed last with success'),
  note: z.string().nullable().describe('Why the last deployment failed; null if it succeeded'),
  members: z.array(appMember).describe('In the order of their start'),
})

export type AppRecord = z.infer<typeof appRecord>
