import * as z from 'zod'
import { method } from './method.ts'

const bytesByPurpose = z.record(
  z.string(),
  z.object({ sentBytes: z.number().int().min(0), receivedBytes: z.number().int().min(0) }),
)

export const getNetworkUse = method({
  name: 'getNetworkUse',
  summary: 'What the device sent and received, and whether its link costs by its bytes.',
  description:
    'Bytes that TCP carried, with TLS and without the headers of packets, by what they were for: `identity`, `discovery`, `images`, `functions`, `telemetry` and `other`. What containers and the local network use is not part of it. Days and months are those of the clock and the time zone of the device.',
  params: [],
  result: z.object({
    metered: z.boolean().describe('Whether the link costs by its bytes'),
    meteredReason: z.string().describe('Where that is known from'),
    today: bytesByPurpose,
    thisMonth: bytesByPurpose,
    dayBudget: z.number().int().min(0).describe('Bytes; 0: no limit'),
    monthBudget: z.number().int().min(0).describe('Bytes; 0: no limit'),
    downloadsWait: z.string().optional().describe('Why downloads of images wait; absent: they do not'),
  }),
  reasons: [],
  access: { caller: 'anyone' },
})
