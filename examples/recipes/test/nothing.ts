// Stands for modules that only a framework has.
export {};
