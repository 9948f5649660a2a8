/** How the commands of a page are written in a clone: its program is not in PATH. */
export const inClone = (
  <>
    In a clone, write <code>node_modules/.bin/selvedge</code> instead of <code>selvedge</code>.
  </>
)
