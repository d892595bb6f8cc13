declare module "*.css";
declare module "*.vue";
