// Resolves the names of packages in another folder: node --import ".../modules.mjs?folder=file:///..." program.mjs
// (a file: URL of the folder that holds node_modules). Files are resolved as usual.

import { registerHooks } from "node:module";

const root = new URL(import.meta.url).searchParams.get("folder");

registerHooks({
  resolve(specifier, context, next) {
    const fromProgram = !context.parentURL?.includes("/node_modules/");
    const isPackage = !/^(\.{0,2}\/|node:|file:|data:)/.test(specifier);
    return next(specifier, fromProgram && isPackage ? { ...context, parentURL: `${root}/package.json` } : context);
  },
});
