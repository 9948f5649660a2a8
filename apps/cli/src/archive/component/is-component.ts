/** The bytes that a component begins with: the version and the layer of its format. */
const magic = Buffer.from([0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00])

/** Whether a file is a component, and not a core module. */
export const isComponent = (content: Buffer): boolean => content.subarray(0, magic.length).equals(magic)
