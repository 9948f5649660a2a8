import { packFolder } from '../../archive/pack.ts'
import { command } from '../../command.ts'
import { writeWhole } from '../../output/write-whole.ts'

export const imagePack = command({
  path: ['image', 'pack'],
  summary:
    'Create the archive of a function image from a folder with index.ts, index.js or index.wasm. Equal files give an equal archive.',
  args: [
    {
      name: '<dir>',
      description:
        'folder with index.ts, index.js or index.wasm, or with a package.json that names another file as "main"',
    },
  ],
  options: [
    {
      flags: '--name <name>',
      description: 'name of the image; default: from package.json, else the name of the folder',
    },
    { flags: '--image-version <version>', description: 'version; default: from package.json, else 1.0.0' },
    { flags: '-o, --output <file>', description: 'file to write; default <name>-<version>.tar' },
  ],
  run: async (_, { args: [folder = '.'], options: { name, imageVersion, output } }) => {
    const packed = await packFolder(folder, {
      ...(typeof name === 'string' && { name }),
      ...(typeof imageVersion === 'string' && { version: imageVersion }),
    })
    const file =
      typeof output === 'string' ? output : `${packed.name.replaceAll('/', '-')}-${packed.version}.tar`
    await writeWhole(file, packed.archive)
    return {
      file,
      name: packed.name,
      version: packed.version,
      digest: packed.digest,
      size: packed.archive.length,
    }
  },
})
