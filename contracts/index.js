// The package's entry `contracts` has only types.
export {};
