/** Sends an image to the device, with a progress bar. */
import { existsSync, statSync } from 'node:fs'
import { uploadImage } from '@selvedge/client/node'
import type { ImageRecord } from '@selvedge/protocol'
import { buildFolder } from '../../archive/build.ts'
import type { Context } from '../../context/context.ts'
import { UsageError } from '../../failure.ts'
import { createProgress } from '../../output/progress.ts'

/** The token to send with, and how to get the next one when it expires within a long upload. */
export interface UploadTokens {
  readonly edgeAccessToken: string
  readonly newToken: () => Promise<string>
}

/** @throws UsageError | RpcFailure | ConnectionFailure */
export async function uploadArchive(
  context: Context,
  { edgeAccessToken, newToken }: UploadTokens,
  path: string,
  name?: string,
): Promise<ImageRecord> {
  const streams = await context.streams(edgeAccessToken, newToken)
  const progress = createProgress(context.terminal, 'sending')
  return uploadImage(streams, path, progress.show, name, progress.wait).finally(progress.end)
}

/**
 * Packs or builds a folder, and sends the image.
 *
 * @param name of the image on the device; absent: that of the folder
 * @returns the image, and the name of the folder's image
 */
export async function uploadFolder(
  context: Context,
  tokens: UploadTokens,
  folder: string,
  name?: string,
): Promise<{ readonly image: ImageRecord; readonly name: string }> {
  const built = await buildFolder(folder, context.terminal)
  try {
    return { image: await uploadArchive(context, tokens, built.path, name), name: built.name }
  } finally {
    built.remove()
  }
}

/** What a user named as the source of an image. @throws UsageError for a path where nothing is */
export function readSource(source: string): 'folder' | 'archive' | 'reference' {
  if (existsSync(source)) return statSync(source).isDirectory() ? 'folder' : 'archive'
  if (!/^(?:[./~]|file:)|\.(?:tar|tgz|gz|zst)$/.test(source)) return 'reference'
  throw new UsageError(
    `there is no file or folder ${source}`,
    'Give an archive, a folder to pack, or a reference of a registry such as docker.io/library/nginx:1.27',
  )
}
