/** The content of a file of an app, as a plan has it: text, or bytes in base64. */
import * as z from 'zod'

/** How `content` is to be read. */
const configEncodings = ['text', 'base64'] as const

interface ConfigContent {
  readonly content: string
  readonly encoding?: (typeof configEncodings)[number] | undefined
}

/** RFC 4648, section 4: with padding, without white space. */
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

export const configContent = {
  content: z.string().describe('The file: text, which is written in UTF-8, or base64'),
  encoding: z
    .enum(configEncodings)
    .optional()
    .describe(
      'How `content` is to be read; default: `text`. `base64` is for files that are not text in UTF-8',
    ),
}

export const hasConfigBytes = ({ content, encoding }: ConfigContent): boolean =>
  encoding !== 'base64' || base64.test(content)

/** The bytes of the file. @param config that `hasConfigBytes` accepts */
export const configBytes = ({ content, encoding }: ConfigContent): Uint8Array =>
  encoding === 'base64'
    ? Uint8Array.from(atob(content), (each) => each.charCodeAt(0))
    : new TextEncoder().encode(content)
